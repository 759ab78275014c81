import * as z from 'zod/mini';
import { parseImageReference, shortRepositoryOf } from '../core/compose/pins/image-reference.ts';
import { releaseSettingsSchema } from '../core/release/release-settings.ts';
import { parseJsonFile } from './parse-json-file.ts';

const digest = z
  .string()
  .check(z.regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: followed by 64 hexadecimal digits'));
const nameOfImage = z
  .string()
  .check(z.regex(/^[\w./:-]{1,256}$/, 'must be the name of a service or repository'));
export const identifierSchema = z
  .string()
  .check(z.regex(/^[\w.-]{1,128}$/, 'may contain only letters, digits, dots, hyphens and underscores'));
/** File name without a path, so that it cannot refer to a file in another directory. */
const fileName = z.string().check(z.regex(/^(?!\.)[\w.-]{1,128}$/, 'must be a file name'));

const releaseFileSchema = z.object({
  format: z.literal(1),
  /** Name of the product, such as `svc`. */
  product: identifierSchema,
  /** Tag of the release. */
  version: identifierSchema,
  channel: z.enum(['stable', 'canary']),
  publishedAt: z.iso.datetime(),
  /** Oldest version that can be updated to this release. */
  requires: z.optional(z.nullable(identifierSchema)),
  /** Images of the release, keyed by service or repository. */
  images: z.record(
    nameOfImage,
    z.object({
      /** Image reference: `ghcr.io/acme/svc:v1.5.0` */
      reference: z.string().check(z.minLength(1), z.maxLength(512)),
      /** Digest of the image index, or of the manifest if the image has no index. */
      digest,
      /**
       * Digests keyed by platform, such as `linux/amd64`. For a pulled image, the engine reports one of these digests.
       */
      platforms: z.record(
        z.string(),
        z.object({
          manifest: digest,
          config: digest,
          /** Compressed size of each layer in bytes, keyed by digest. */
          layers: z.optional(z.record(digest, z.int().check(z.nonnegative()))),
        }),
      ),
    }),
  ),
  /** Digests of the files published with the release, keyed by file name. */
  files: z.record(fileName, digest),
  /** Required and optional settings that are new in this release. */
  settings: z.optional(releaseSettingsSchema),
});

/** Content of `release.json`. */
export type ReleaseFile = z.infer<typeof releaseFileSchema>;

/** Maximum size of `release.json` in bytes, more than any valid file needs. */
const mostBytes = 256 * 1024;

/** Parses `release.json`. @throws Error if the file is not valid */
export const parseReleaseFile = (bytes: Uint8Array): ReleaseFile =>
  parseJsonFile(bytes, releaseFileSchema, mostBytes);

/**
 * Returns a function that accepts any variant of a platform, such as `linux/arm/v7`, because the engine does not report
 * its variant.
 */
export const createPlatformPredicate =
  (platform: string) =>
  (name: string): boolean =>
    name === platform || name.startsWith(`${platform}/`);

/**
 * Returns the names under which the digests of an image are verified: its service in the release, and its repository,
 * because the service may have another name in the compose file of an instance.
 */
export const listImageNames = (
  service: string,
  { reference }: Pick<ReleaseFile['images'][string], 'reference'>,
): string[] => {
  const { repository } = parseImageReference(reference) ?? {};
  return repository === undefined ? [service] : [service, shortRepositoryOf(repository)];
};
