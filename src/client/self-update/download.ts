import { FeedError, reasonOf } from '../../feed/feed-error.ts';
import { follow } from '../../feed/follow.ts';
import type { Asset } from '../../release/channel.ts';
import { Failure } from '../command.ts';
import { names } from '../names.ts';
import { unchanged } from './failure.ts';

/** What a download may not exceed: milliseconds and bytes. */
export interface Limits {
  /** Without a byte. */
  silence: number;
  /** From the first request to the last byte. */
  whole: number;
  size: number;
}

export const programLimits: Limits = { silence: 30_000, whole: 3_600_000, size: 512 * 1024 * 1024 };
export const sumsLimits: Limits = { silence: 30_000, whole: 60_000, size: 1024 * 1024 };
export const proofLimits: Limits = { ...sumsLimits, size: 256 * 1024 };

/** What is downloaded. */
export interface Transfer {
  asset: Asset;
  /** The address of the feed that has named it. */
  feed: string;
  limits: Limits;
  signal: AbortSignal;
  /** `total` is null where the server does not say how much there is. */
  onProgress?: (bytes: number, total: number | null) => void;
}

/**
 * Downloads one asset, over https where its feed is, and hands out its bytes as they come.
 * @throws Failure, failed, with what is wrong and what to do; the reason of the signal
 */
export async function* download(transfer: Transfer): AsyncGenerator<Uint8Array, void, undefined> {
  const { asset, feed, limits, signal, onProgress } = transfer;
  const address = addressOf(asset, feed);
  const ending = new AbortController();
  const endAfter = (milliseconds: number, words: string) =>
    setTimeout(() => ending.abort(new FeedError(words)), milliseconds);
  const silence = endAfter(limits.silence, `nothing came for ${limits.silence / 1000} s`);
  const whole = endAfter(limits.whole, `it is not complete after ${limits.whole / 1000} s`);
  let bytes = 0;
  try {
    const { response, address: from } = await follow(address, {
      feed: { url: feed },
      // A length is of the bytes that are sent: packed ones would be another number.
      headers: { 'accept-encoding': 'identity' },
      signal: AbortSignal.any([signal, ending.signal]),
    });
    expectFile(response, asset, from.host);
    const length = Number(response.headers.get('content-length') ?? Number.NaN);
    const total = Number.isSafeInteger(length) ? length : null;
    if ((total ?? 0) > limits.size) throw tooLarge(asset, limits);
    for await (const chunk of response.body ?? []) {
      if (bytes === 0 && isPage(chunk)) throw aPage(asset, from.host);
      bytes += chunk.byteLength;
      silence.refresh();
      if (bytes > limits.size) throw tooLarge(asset, limits);
      yield chunk;
      onProgress?.(bytes, total);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    const cause: unknown = ending.signal.aborted ? ending.signal.reason : error;
    const where = bytes > 0 ? `broke off after ${megabytes(bytes)} MB` : 'did not begin';
    throw unchanged(
      `the download of ${asset.name} from ${address.host} ${where}: ${reasonOf(cause)}.`,
      'see that this machine reaches that address, then run it again.',
    );
  } finally {
    ending.abort();
    clearTimeout(silence);
    clearTimeout(whole);
  }
}

/** A static file may name what lies beside it. */
function addressOf({ name, url }: Asset, feed: string): URL {
  const unfit = (why: string) =>
    unchanged(`${name} is not downloaded: ${why}.`, 'tell whoever publishes the feed.');
  const address = URL.parse(url, feed);
  if (!address || !/^https?:$/.test(address.protocol)) throw unfit('its feed gives no web address for it');
  if (new URL(feed).protocol === 'https:' && address.protocol === 'http:')
    throw unfit(`its feed is at https:, and it is at http://${address.host}`);
  return address;
}

function expectFile({ status, headers }: Response, asset: Asset, host: string): void {
  if (status !== 200)
    throw unchanged(
      `${host} answers ${status} where ${asset.name} should be.`,
      [401, 403, 404].includes(status)
        ? `see that everybody may download it; else give ${names().feed} a login: https://NAME:TOKEN@….`
        : 'run it again in a few minutes.',
    );
  if (/^text\/html\b/i.test(headers.get('content-type') ?? '')) throw aPage(asset, host);
}

const isPage = (bytes: Uint8Array): boolean =>
  /^\s*<(?:!doctype html|html)\b/i.test(Buffer.from(bytes.subarray(0, 200)).toString('latin1'));

const aPage = ({ name }: Asset, host: string): Failure =>
  unchanged(
    `${host} sends a web page where ${name} should be, perhaps a log-in.`,
    'open its release in a browser, and see that everybody may download it.',
  );

const tooLarge = ({ name }: Asset, { size }: Limits): Failure =>
  unchanged(
    `${name} is larger than ${size < 1024 * 1024 ? `${size / 1024} KiB` : `${size / 1024 / 1024} MiB`}.`,
    'tell whoever publishes the release.',
  );

/** `0.3`, `12`. */
export function megabytes(bytes: number): string {
  const size = bytes / 1_000_000;
  return size < 10 ? size.toFixed(1) : String(Math.round(size));
}
