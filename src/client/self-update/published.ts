import { reasonOf } from '../../feed/feed-error.ts';
import { readNewestRelease } from '../../feed/read-feed.ts';
import { proveRelease } from '../../provenance/prove-release.ts';
import type { Trust } from '../../provenance/trust.ts';
import type { Asset, Channel, Release } from '../../release/channel.ts';
import { UsageError } from '../command.ts';
import { names } from '../names.ts';
import { cleanText } from '../text.ts';
import { download, proofLimits, type Transfer } from './download.ts';
import { adviceFor, refused, unchanged } from './failure.ts';

const sumsName = 'SHA256SUMS';
const fileName = 'release.json';
const bundleName = `${fileName}.sigstore.json`;

/** @throws UsageError; the value, which may hold a token, is not repeated */
export function feedOf(env: NodeJS.ProcessEnv): string {
  const { name, feed, releases } = names();
  const given = env[feed] || releases;
  if (given === null) throw new UsageError(`set ${feed} to the address of the releases of ${name}`);
  const address = URL.parse(given);
  if (!address || !/^https?:$/.test(address.protocol))
    throw new UsageError(`${feed} has to be the web address of a list of releases: https://…`);
  return address.href;
}

/** @throws Failure, failed; the reason of the signal */
export function newestRelease(feed: string, channel: Channel, signal: AbortSignal): Promise<Release | null> {
  return readNewestRelease(feed, channel, signal).catch((error) => {
    signal.throwIfAborted();
    throw unchanged(
      `the releases at ${new URL(feed).host} cannot be read: ${reasonOf(error)}.`,
      adviceFor(error),
    );
  });
}

/** @throws Failure, failed, if the release does not have it */
export function assetOf({ version, assets = [] }: Release, name: string): Asset {
  const asset = assets.find((each) => each.name === name);
  if (asset) return asset;
  throw unchanged(
    `${version} has no file ${name}.`,
    'run it again later, because files are often added some minutes after a release. Otherwise report it to its publisher.',
  );
}

/**
 * The checksum of a file in the release's SHA256SUMS, in lower-case hex.
 * @throws Failure, failed; the reason of the signal
 */
export async function sumOf(
  release: Release,
  name: string,
  from: Pick<Transfer, 'feed' | 'signal'>,
): Promise<string> {
  const sums = await download({ ...from, asset: assetOf(release, sumsName), limits: proofLimits });
  const [sum, ...others] = sumsFor(name, sums.toString());
  if (sum !== undefined && others.length === 0) return sum;
  throw unchanged(
    `${sumsName} of ${release.version} has ${sum === undefined ? 'no line' : 'several checksums'} for ${name}.`,
    'report it to the publisher of the release.',
  );
}

/**
 * The checksum of a file in the release's `release.json`, which a trusted publisher has signed. It is proven before any byte of the
 * file is asked for.
 * @throws Failure, refused if it is not proven, otherwise failed; the reason of the signal
 */
export async function provenSumOf(
  release: Release,
  name: string,
  trust: Trust,
  from: Pick<Transfer, 'feed' | 'signal'>,
): Promise<string> {
  const { version } = release;
  const get = (asset: string) => download({ ...from, asset: assetOf(release, asset), limits: proofLimits });
  const [file, bundle] = [await get(fileName), await get(bundleName)];
  let files: Readonly<Record<string, string>>;
  try {
    ({ files } = await proveRelease(file, bundle.toString(), trust, { product: names().name, version }));
  } catch (error) {
    throw refused(
      // The message of a parser quotes its input.
      `${version} was rejected: ${cleanText((error as Error).message)}.`,
      `ask its publisher. After a change of keys, first install by hand the ${name} of a release that trusts both keys.`,
    );
  }
  const digest = files[name];
  if (digest !== undefined) return digest.replace('sha256:', '');
  throw refused(
    `${version} was rejected: its ${fileName} has no checksum for ${name}.`,
    'report it to the publisher of the release.',
  );
}

/** The different checksums of a name in a SHA256SUMS file, in lower case. */
export function sumsFor(name: string, text: string): string[] {
  const lines = text.split(/\r?\n/).flatMap((line) => {
    // The format of sha256sum: a star means that the file was read as binary.
    const [, sum = '', file = ''] = /^([0-9a-fA-F]{64}) [ *](?:\.\/)?(.+)$/.exec(line) ?? [];
    return file === name ? [sum.toLowerCase()] : [];
  });
  return [...new Set(lines)];
}
