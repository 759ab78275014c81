import type { ReleaseAsset } from '../../core/release/channel.ts';
import { FeedError, innermostErrorMessageOf } from '../../feed/feed-error.ts';
import { followRedirects } from '../../feed/follow-redirects.ts';
import { createUpdateFailedError, downloadAdviceOf } from './client-update-errors.ts';

export const clientFileDownloadLimits = {
  /** Maximum time without any data. */
  maximumSilenceMs: 30_000,
  /** Maximum time from the request until the last byte. */
  maximumDurationMs: 3_600_000,
  maximumBytes: 512 * 1024 * 1024,
};
export type DownloadLimits = typeof clientFileDownloadLimits;
/** Limits for the checksum and signature files of a release. */
export const verificationFileDownloadLimits: DownloadLimits = {
  maximumSilenceMs: 30_000,
  maximumDurationMs: 60_000,
  maximumBytes: 256 * 1024,
};

export interface AssetDownloadOptions {
  asset: ReleaseAsset;
  /** Address of the feed that lists the asset. */
  feed: string;
  limits: DownloadLimits;
  signal: AbortSignal;
  /** Called after each chunk. `total` is null if the server does not send a length. */
  onProgress?: (bytes: number, total: number | null) => void;
}

/**
 * Downloads an asset of a release. If the feed uses https, the asset must use https too.
 * @throws CommandFailedError with outcome `failed`, or the abort reason of the signal
 */
export async function downloadAsset({
  asset,
  feed,
  limits,
  signal,
  onProgress,
}: AssetDownloadOptions): Promise<Buffer> {
  const address = addressOf(asset, feed);
  const outcome = new AbortController();
  const endAfter = (milliseconds: number, words: string) =>
    setTimeout(() => outcome.abort(new FeedError(words)), milliseconds);
  const silence = endAfter(limits.maximumSilenceMs, `no data for ${limits.maximumSilenceMs / 1000} s`);
  const whole = endAfter(limits.maximumDurationMs, `not complete after ${limits.maximumDurationMs / 1000} s`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    const { response } = await followRedirects(address, {
      feed: { url: feed },
      // Request an uncompressed body, so that the content length is the size of the file.
      headers: { 'accept-encoding': 'identity' },
      signal: AbortSignal.any([signal, outcome.signal]),
    });
    if (response.status !== 200) throw new FeedError(`the server responded with status ${response.status}`);
    const total = Number(response.headers.get('content-length')) || null;
    for await (const chunk of response.body ?? []) {
      silence.refresh();
      bytes += chunk.byteLength;
      if (bytes > limits.maximumBytes)
        throw new FeedError(`the file is larger than ${limits.maximumBytes / 1024} KiB`);
      chunks.push(chunk);
      onProgress?.(bytes, total);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    signal.throwIfAborted();
    const cause: unknown = outcome.signal.aborted ? outcome.signal.reason : error;
    throw createUpdateFailedError(
      `the download of ${asset.name} from ${address.host} failed: ${innermostErrorMessageOf(cause)}.`,
      downloadAdviceOf(cause),
    );
  } finally {
    outcome.abort();
    clearTimeout(silence);
    clearTimeout(whole);
  }
}

/** In a static feed, the address of an asset may be relative to the feed. */
function addressOf({ name, url }: ReleaseAsset, feed: string): URL {
  const unfit = (why: string) =>
    createUpdateFailedError(
      `${name} cannot be downloaded: ${why}.`,
      'report the problem to the publisher of the feed.',
    );
  const address = URL.parse(url, feed);
  if (!address || !/^https?:$/.test(address.protocol))
    throw unfit('the address of this file in the feed is not an http or https address');
  if (new URL(feed).protocol === 'https:' && address.protocol === 'http:')
    throw unfit(`the feed uses https, but the file is at http://${address.host}`);
  return address;
}
