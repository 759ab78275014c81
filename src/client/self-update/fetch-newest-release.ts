import type { Channel, Release, ReleaseAsset } from '../../core/release/channel.ts';
import { innermostErrorMessageOf } from '../../feed/feed-error.ts';
import { readNewestRelease } from '../../feed/read-feed.ts';
import type { Trust } from '../../provenance/trust.ts';
import { verifyRelease } from '../../provenance/verify-release.ts';
import { CommandUsageError } from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { escapeControlCharacters } from '../output/text.ts';
import {
  createUpdateFailedError,
  createUpdateRefusedError,
  downloadAdviceOf,
} from './client-update-errors.ts';
import {
  type AssetDownloadOptions,
  downloadAsset,
  verificationFileDownloadLimits,
} from './download-asset.ts';

const sumsName = 'SHA256SUMS';
const fileName = 'release.json';
const bundleName = `${fileName}.sigstore.json`;

/**
 * Returns the address of the feed. The error message does not quote this address, because it may contain a token.
 * @throws CommandUsageError if the address is missing or not a web address
 */
export function requireFeedAddress(env: NodeJS.ProcessEnv): string {
  const { name, feed, releases } = getProductNames();
  const given = env[feed] || releases;
  if (given === null) throw new CommandUsageError(`set ${feed} to the web address of the ${name} releases`);
  const address = URL.parse(given);
  if (!address || !/^https?:$/.test(address.protocol))
    throw new CommandUsageError(`${feed} must be the web address of a list of releases: https://…`);
  return address.href;
}

/**
 * Resolves with null if the channel has no release.
 * @throws CommandFailedError with outcome `failed`, or the abort reason of the signal
 */
export function fetchNewestRelease(
  feed: string,
  channel: Channel,
  signal: AbortSignal,
): Promise<Release | null> {
  return readNewestRelease(feed, channel, signal).catch((error) => {
    signal.throwIfAborted();
    throw createUpdateFailedError(
      `cannot read the releases at ${new URL(feed).host}: ${innermostErrorMessageOf(error)}.`,
      downloadAdviceOf(error),
    );
  });
}

/** @throws CommandFailedError with outcome `failed` if the release does not contain the asset */
export function requireAsset({ version, assets = [] }: Release, name: string): ReleaseAsset {
  const asset = assets.find((each) => each.name === name);
  if (asset) return asset;
  throw createUpdateFailedError(
    `release ${version} does not contain ${name}.`,
    'try again in a few minutes, because files are often uploaded after a release is published. If the file is still missing, report it to the publisher.',
  );
}

/**
 * Reads a file's checksum, in lower-case hex, from the SHA256SUMS of the release.
 * @throws CommandFailedError with outcome `failed`, or the abort reason of the signal
 */
export async function fetchChecksum(
  release: Release,
  name: string,
  from: Pick<AssetDownloadOptions, 'feed' | 'signal'>,
): Promise<string> {
  const sums = await downloadAsset({
    ...from,
    asset: requireAsset(release, sumsName),
    limits: verificationFileDownloadLimits,
  });
  const [sum, ...others] = parseFileChecksums(name, sums.toString());
  if (sum !== undefined && others.length === 0) return sum;
  throw createUpdateFailedError(
    `${sumsName} of ${release.version} contains ${sum === undefined ? 'no checksum' : 'several checksums'} for ${name}.`,
    'report the problem to the publisher of the release.',
  );
}

/**
 * Verifies the signature of `release.json`, and then reads a file's checksum from `release.json`.
 * @throws CommandFailedError with outcome `refused` if the signature is invalid, or `failed` for other errors; or the
 * abort reason of the signal
 */
export async function fetchVerifiedChecksum(
  release: Release,
  name: string,
  trust: Trust,
  from: Pick<AssetDownloadOptions, 'feed' | 'signal'>,
): Promise<string> {
  const { version } = release;
  const get = (asset: string) =>
    downloadAsset({ ...from, asset: requireAsset(release, asset), limits: verificationFileDownloadLimits });
  const [file, bundle] = [await get(fileName), await get(bundleName)];
  let files: Readonly<Record<string, string>>;
  try {
    ({ files } = await verifyRelease(file, bundle.toString(), trust, {
      product: getProductNames().name,
      version,
    }));
  } catch (error) {
    throw createUpdateRefusedError(
      // Escape the message, because a parser may quote its untrusted input.
      `${version} was rejected: ${escapeControlCharacters((error as Error).message)}.`,
      `contact the publisher of ${name}. If the signing key was replaced, manually install a release of ${name} that trusts both the old and the new key, then run the update again.`,
    );
  }
  const digest = files[name];
  if (digest !== undefined) return digest.replace('sha256:', '');
  throw createUpdateRefusedError(
    `${version} was rejected: its ${fileName} contains no checksum for ${name}.`,
    'report the problem to the publisher of the release.',
  );
}

/** Finds all distinct checksums of a file in the text of SHA256SUMS. Returns them in lower-case hex. */
export function parseFileChecksums(name: string, text: string): string[] {
  const lines = text.split(/\r?\n/).flatMap((line) => {
    // In sha256sum's format, a star before the file name means that the file was read in binary mode.
    const [, sum = '', file = ''] = /^([0-9a-fA-F]{64}) [ *](?:\.\/)?(.+)$/.exec(line) ?? [];
    return file === name ? [sum.toLowerCase()] : [];
  });
  return [...new Set(lines)];
}
