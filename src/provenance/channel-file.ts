import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { channelOf, channels, isNewerVersion } from '../core/release/channel.ts';
import { parseJsonFile } from './parse-json-file.ts';
import { identifierSchema } from './release-file.ts';
import type { Trust } from './trust.ts';
import { rethrowAsUnverified, UnverifiedError, verifySignature } from './verify-release.ts';

const mostChannelBytes = 64 * 1024;
const longestDays = 366;

const isRelease = (text: string): boolean => channelOf(text) !== null;
const version = z.string().check(z.refine(isRelease, 'must be vX.Y.Z or vX.Y.Z-canary.N'));
const whyForm = /^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]{1,500}$/u;
const whyMistake = 'must have 1 to 500 characters without line breaks or control characters';
const why = z.string().check(z.regex(whyForm, whyMistake));
const url = z
  .url({ protocol: /^https?$/, message: 'must be an http or https address' })
  .check(z.regex(/^[!-~]+$/, 'must be an http or https address'));
const isInTime = ({ issuedAt, expires }: { issuedAt: string; expires: string }): boolean => {
  const days = (Date.parse(expires) - Date.parse(issuedAt)) / 86_400_000;
  return days > 0 && days <= longestDays;
};
const late = {
  message: `must be after issuedAt, but at most ${longestDays} days after it`,
  path: ['expires'],
};

export const channelFileSchema = z
  .object({
    format: z.literal(1),
    /** Name of the product, such as `svc`. */
    product: identifierSchema,
    channel: z.enum(channels),
    issuedAt: z.iso.datetime(),
    expires: z.iso.datetime(),
    /** Instances that run a version older than `below` should be updated immediately. */
    urgent: z.nullable(z.object({ below: version, why })),
    /** Versions that must not be installed. */
    recalled: z.array(z.object({ version, why, url: z.optional(url) })),
    /** Percentage of the instances for which `version` is available. */
    rollout: z.nullable(z.object({ version, percent: z.number().check(z.gte(0), z.lte(100)) })),
  })
  .check(z.refine(isInTime, late));

/** Content of `channel.json`: the publisher's information about the releases of a channel. */
export type ChannelFile = z.infer<typeof channelFileSchema>;
export type Recall = ChannelFile['recalled'][number];
type Recalls = { recalled: readonly Recall[] };

/** Parses `channel.json`. @throws Error if the file is not valid */
export const parseChannelFile = (bytes: Uint8Array): ChannelFile =>
  parseJsonFile(bytes, channelFileSchema, mostChannelBytes);

/**
 * Verifies that a trusted publisher has signed `channel.json`, and returns its content. Makes no network requests.
 * @param file - the bytes of `channel.json`
 * @param bundle - the text of `channel.json.sigstore.json`
 * @throws UnverifiedError
 */
export async function verifyChannelFile(
  file: Uint8Array,
  bundle: string,
  trust: Trust,
  wanted: { product: string },
): Promise<ChannelFile & { signer: string }> {
  const signer = await verifySignature(file, bundle, trust);
  return { ...parseUnverifiedChannelFile(file, wanted.product), signer };
}

/**
 * Parses `channel.json` without checking its signature.
 * @throws UnverifiedError if the file is not valid or is for another product
 */
export function parseUnverifiedChannelFile(file: Uint8Array, product: string): ChannelFile {
  const told = rethrowAsUnverified(() => parseChannelFile(file), 'channel.json cannot be read');
  if (told.product !== product)
    throw new UnverifiedError(`it is a channel file of ${told.product}, not of ${product}`);
  return told;
}

/** @param now - milliseconds since 1970 */
export const isChannelFileExpired = ({ expires }: Pick<ChannelFile, 'expires'>, now: number): boolean =>
  Date.parse(expires) <= now;

/** Returns the recall of a version, which may have a leading `v`. Returns null if the version is not recalled. */
export const findRecall = ({ recalled }: Recalls, version: string): Recall | null =>
  recalled.find((recall) => bare(recall.version) === bare(version)) ?? null;

export const formatRecall = ({ version, why }: Recall): string =>
  `${version} has been recalled by its publisher: ${why.replace(/\.$/, '')}`;

export const isRecalled = (file: Recalls, version: string): boolean => findRecall(file, version) !== null;

/** @param version - running version of the instance */
export const isSecurityUpdateNeeded = ({ urgent }: Pick<ChannelFile, 'urgent'>, version: string): boolean =>
  urgent !== null && isNewerVersion(urgent.below, version);

/**
 * Returns the position of an instance in the rollout of a version, from 0 to 99.99. The version is available to the
 * instance if the position is below the percentage of the rollout.
 */
export const rolloutPositionOf = (instanceId: string, version: string): number =>
  (createHash('sha256').update(`${instanceId} ${version}`).digest().readUInt32BE() % 10_000) / 100;

const bare = (version: string): string => version.replace(/^v/, '');
