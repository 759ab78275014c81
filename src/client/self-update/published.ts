import { buffer, text } from 'node:stream/consumers';
import { FeedError, reasonOf } from '../../feed/feed-error.ts';
import { readNewestRelease } from '../../feed/read-feed.ts';
import { proveRelease } from '../../provenance/prove-release.ts';
import type { Trust } from '../../provenance/trust.ts';
import type { Asset, Channel, Release } from '../../release/channel.ts';
import { UsageError } from '../command.ts';
import { names } from '../names.ts';
import { cleanText } from '../text.ts';
import { download, proofLimits, sumsLimits, type Transfer } from './download.ts';
import { refused, unchanged } from './failure.ts';

const sumsName = 'SHA256SUMS';
const fileName = 'release.json';
const bundleName = `${fileName}.sigstore.json`;

/** @throws UsageError; the value, which may hold a token, is not repeated */
export function feedOf(env: NodeJS.ProcessEnv): string {
  const { name, feed, releases } = names();
  const given = env[feed] || releases;
  if (given === null)
    throw new UsageError(`it is not known where releases of ${name} are: ${feed} has to name the address`);
  const address = URL.parse(given);
  if (!address || !/^https?:$/.test(address.protocol))
    throw new UsageError(`${feed} should be the web address of a list of releases: https://…`);
  return address.href;
}

/** @throws Failure, failed; the reason of the signal */
export function newestRelease(feed: string, channel: Channel, signal: AbortSignal): Promise<Release | null> {
  return readNewestRelease(feed, channel, signal).catch((error) => {
    signal.throwIfAborted();
    throw unchanged(
      `the releases at ${new URL(feed).host} cannot be read: ${reasonOf(error)}.`,
      nextAfter(error),
    );
  });
}

function nextAfter(error: unknown): string {
  const { wait, status } = error instanceof FeedError ? error : { wait: null, status: null };
  const { feed } = names();
  const login = `${feed} a login: https://NAME:TOKEN@….`;
  if (wait !== null)
    return `it allows no more requests for now: run it again in ${Math.max(1, Math.ceil(wait / 60_000))} min, or give ${login}`;
  if (status !== null && [401, 403, 404].includes(status))
    return `see that everybody may read them there; else give ${login}`;
  return `see that this machine reaches that address (${feed} names another), then run it again.`;
}

/** @throws Failure, failed, where the release does not have it */
export function assetOf({ version, assets = [] }: Release, name: string): Asset {
  const asset = assets.find((each) => each.name === name);
  if (asset) return asset;
  const others = assets.length === 1 ? 'but 1 other file' : `but ${assets.length} other files`;
  const why = [sumsName, fileName, bundleName].includes(name)
    ? 'so that nothing could be checked'
    : assets.length === 0
      ? 'and nothing else'
      : others;
  throw unchanged(
    `${version} has no file ${name}, ${why}.`,
    'run it again later, as files are often added some minutes after a release; else tell its publisher.',
  );
}

/**
 * The checksum that a release gives for one of its files, in lower-case hex.
 * @throws Failure, failed; the reason of the signal
 */
export async function sumOf(
  release: Release,
  name: string,
  from: Pick<Transfer, 'feed' | 'signal'>,
): Promise<string> {
  const sums = await text(download({ ...from, asset: assetOf(release, sumsName), limits: sumsLimits }));
  const [sum, ...others] = sumsFor(name, sums);
  if (sum !== undefined && others.length === 0) return sum;
  throw unchanged(
    `${sumsName} of ${release.version} ${sum === undefined ? 'has no line' : 'has several sums'} for ${name}.`,
    'tell whoever publishes the release.',
  );
}

/**
 * The same as `release.json` has it, which somebody has signed who is trusted. It is asked for before any byte of the file.
 * @throws Failure, refused where it is not proven, else failed; the reason of the signal
 */
export async function provenSumOf(
  release: Release,
  name: string,
  trust: Trust,
  from: Pick<Transfer, 'feed' | 'signal'>,
): Promise<string> {
  const { version } = release;
  const get = (asset: string) =>
    buffer(download({ ...from, asset: assetOf(release, asset), limits: proofLimits }));
  const [file, bundle] = [await get(fileName), await get(bundleName)];
  let files: Readonly<Record<string, string>>;
  try {
    ({ files } = await proveRelease(file, bundle.toString(), trust, { product: names().name, version }));
  } catch (error) {
    throw refused(
      // A parser repeats what it was given.
      `${version} is not taken: ${cleanText((error as Error).message)}.`,
      `ask its publisher. Where the key is a new one, a release in between knows both, as the old one has signed it: put ${name} of that in place by hand, then run it again.`,
    );
  }
  const digest = files[name];
  if (digest !== undefined) return digest.replace('sha256:', '');
  throw refused(
    `${version} is not taken: its ${fileName} does not name ${name}.`,
    'tell whoever publishes the release.',
  );
}

/** The sums that a SHA256SUMS file gives for a name, in lower case: none, one, or several that contradict each other. */
export function sumsFor(name: string, text: string): string[] {
  const lines = text.split(/\r?\n/).flatMap((line) => {
    // As sha256sum writes it: a star stands for "read as binary".
    const [, sum = '', file = ''] = /^([0-9a-fA-F]{64}) [ *](?:\.\/)?(.+)$/.exec(line) ?? [];
    return file === name ? [sum.toLowerCase()] : [];
  });
  return [...new Set(lines)];
}
