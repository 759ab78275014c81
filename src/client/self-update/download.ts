import { FeedError, reasonOf } from '../../feed/feed-error.ts';
import { follow } from '../../feed/follow.ts';
import type { Asset } from '../../release/channel.ts';
import { Failure } from '../command.ts';
import { names } from '../names.ts';
import { failed } from './failure.ts';

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

/** Where it comes from and goes to. */
export interface Transfer {
  asset: Asset;
  /** The address of the feed that has named it. */
  feed: string;
  limits: Limits;
  signal: AbortSignal;
  /** Takes the bytes in their order. */
  take: (bytes: Uint8Array) => unknown;
  /** `total` is null where the server does not say how much there is. */
  onProgress?: (bytes: number, total: number | null) => void;
}

/**
 * Downloads one asset, over https where its feed is.
 * @throws Failure, failed, with what is wrong and what to do; a Failure of `take`; the reason of the signal
 */
export async function download(transfer: Transfer): Promise<void> {
  const { asset, limits, signal } = transfer;
  const address = addressOf(transfer);
  const controller = new AbortController();
  const stop = () => controller.abort();
  const stopLate = (milliseconds: number, words: string) =>
    setTimeout(() => controller.abort(new FeedError(words)), milliseconds);
  const silence = stopLate(limits.silence, `nothing came for ${limits.silence / 1000} s`);
  const whole = stopLate(limits.whole, `it is not complete after ${limits.whole / 1000} s`);
  signal.addEventListener('abort', stop);
  const counter = { bytes: 0, onBytes: () => silence.refresh() };
  try {
    signal.throwIfAborted();
    await receive(transfer, address, { signal: controller.signal, counter });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    const cause: unknown = controller.signal.aborted ? controller.signal.reason : error;
    const where = counter.bytes > 0 ? `broke off after ${megabytes(counter.bytes)} MB` : 'did not begin';
    throw failed(
      `Nothing was changed: the download of ${asset.name} from ${address.host} ${where}: ${reasonOf(cause)}.`,
      'see that this machine reaches that address, then run it again.',
    );
  } finally {
    controller.abort();
    clearTimeout(silence);
    clearTimeout(whole);
    signal.removeEventListener('abort', stop);
  }
}

/** A static file may name what lies beside it. */
function addressOf({ asset, feed }: Transfer): URL {
  const home = new URL(feed);
  const address = URL.parse(asset.url, feed);
  if (!address || !/^https?:$/.test(address.protocol))
    throw unfit(asset, 'its feed gives no web address for it');
  if (home.protocol === 'https:' && address.protocol === 'http:')
    throw unfit(asset, `its feed is at https:, and it is at http://${address.host}`);
  return address;
}

/** What is asked of one answer. */
interface Receiver {
  signal: AbortSignal;
  counter: { bytes: number; onBytes: () => void };
}

async function receive(transfer: Transfer, from: URL, { signal, counter }: Receiver): Promise<void> {
  const { asset, feed, limits, take, onProgress } = transfer;
  const { response, address } = await follow(from, {
    feed: { url: feed },
    // A length is of the bytes that are sent: packed ones would be another number.
    headers: { 'accept-encoding': 'identity' },
    signal,
  });
  const { host } = address;
  if (response.status !== 200) throw notThere(asset, host, response.status);
  if (/^text\/html\b/i.test(response.headers.get('content-type') ?? '')) throw aPage(asset, host);
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  const total = Number.isSafeInteger(length) ? length : null;
  if ((total ?? 0) > limits.size) throw tooLarge(asset, limits);
  for await (const bytes of response.body ?? []) {
    if (counter.bytes === 0 && isPage(bytes)) throw aPage(asset, host);
    counter.bytes += bytes.byteLength;
    counter.onBytes();
    if (counter.bytes > limits.size) throw tooLarge(asset, limits);
    await take(bytes);
    onProgress?.(counter.bytes, total);
  }
}

const isPage = (bytes: Uint8Array): boolean =>
  /^\s*<(?:!doctype html|html)\b/i.test(Buffer.from(bytes.subarray(0, 200)).toString('latin1'));

const unfit = ({ name }: Asset, why: string): Failure =>
  failed(`Nothing was changed: ${name} is not downloaded: ${why}.`, 'tell whoever publishes the feed.');

const notThere = ({ name }: Asset, host: string, status: number): Failure =>
  failed(
    `Nothing was changed: ${host} answers ${status} where ${name} should be.`,
    [401, 403, 404].includes(status)
      ? `see that everybody may download it; else give ${names().feed} a login: https://NAME:TOKEN@….`
      : 'run it again in a few minutes.',
  );

const aPage = ({ name }: Asset, host: string): Failure =>
  failed(
    `Nothing was changed: ${host} sends a web page where ${name} should be, perhaps a log-in.`,
    'open its release in a browser, and see that everybody may download it.',
  );

const tooLarge = ({ name }: Asset, { size }: Limits): Failure =>
  failed(
    `Nothing was changed: ${name} is larger than ${Math.round(size / 1024 / 1024)} MiB.`,
    'tell whoever publishes the release.',
  );

/** `0.3`, `12`. */
export function megabytes(bytes: number): string {
  const size = bytes / 1_000_000;
  return size < 10 ? size.toFixed(1) : String(Math.round(size));
}
