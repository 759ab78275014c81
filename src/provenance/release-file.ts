import * as z from 'zod/mini';
import { releaseSettingsSchema } from '../core/release/release-settings.ts';
import { readJsonFile } from './read-json-file.ts';

const digest = z
  .string()
  .check(z.regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: followed by 64 hexadecimal digits'));
const nameOfImage = z
  .string()
  .check(z.regex(/^[\w./:-]{1,256}$/, 'must be the name of a service or repository'));
export const nameWord = z
  .string()
  .check(z.regex(/^[\w.-]{1,128}$/, 'may contain only letters, digits, dots, hyphens and underscores'));
/** No path: it names a file beside it, and never one elsewhere. */
const fileName = z.string().check(z.regex(/^(?!\.)[\w.-]{1,128}$/, 'must be a file name'));

const releaseFileSchema = z.object({
  format: z.literal(1),
  /** `svc`, or another product's name. */
  product: nameWord,
  /** Its tag. */
  version: nameWord,
  channel: z.enum(['stable', 'canary']),
  publishedAt: z.iso.datetime(),
  /** The oldest version that it can be updated from. */
  requires: z.optional(z.nullable(nameWord)),
  /** By service or repository. */
  images: z.record(
    nameOfImage,
    z.object({
      /** `ghcr.io/acme/svc:v1.5.0` */
      reference: z.string().check(z.minLength(1), z.maxLength(512)),
      /** Of the index, or of the one manifest that there is. */
      digest,
      /** By platform, `linux/amd64`: an engine tells one of them for the image that it has. */
      platforms: z.record(
        z.string(),
        z.object({
          manifest: digest,
          config: digest,
          /** Compressed bytes of each layer by its digest. */
          layers: z.optional(z.record(digest, z.int().check(z.nonnegative()))),
        }),
      ),
    }),
  ),
  /** Of the files that are published with it. */
  files: z.record(fileName, digest),
  /** What an instance must or may set that an older release does not know. */
  settings: z.optional(releaseSettingsSchema),
});

/** The content of `release.json`. */
export type ReleaseFile = z.infer<typeof releaseFileSchema>;

/** More than any valid file needs. */
const mostBytes = 256 * 1024;

/** @throws Error if the file is not valid */
export const readReleaseFile = (bytes: Uint8Array): ReleaseFile =>
  readJsonFile(bytes, releaseFileSchema, mostBytes);

/** The engine does not say which variant of its architecture it takes: `linux/arm/v7`. */
export const isOfPlatform =
  (platform: string) =>
  (name: string): boolean =>
    name === platform || name.startsWith(`${platform}/`);
