import type { Release, ReleaseAsset } from '../core/release/channel.ts';
import { readResponseBytes } from '../wire/read-response.ts';
import type { FeedOptions } from './follow-redirects.ts';
import { requestFromFeed, requireOkStatus } from './request-from-feed.ts';

/** A release's description, and the signature of the description. */
const proofFiles = ['release.json', 'release.json.sigstore.json'] as const;

/** Maximum size of an attached file in bytes. */
const limit = 256 * 1024;

/** An attached file is missing or invalid. Such a file is not requested again. */
export class InvalidAssetError extends Error {
  override readonly name = 'InvalidAssetError';
}

/**
 * Finds `release.json` and its signature among a release's attached files.
 * @throws InvalidAssetError if a file is missing
 */
export const requireProofAssets = ({ assets = [] }: Release): ReleaseAsset[] =>
  proofFiles.map((name) => {
    const asset = assets.find((one) => one.name === name);
    if (asset === undefined) throw new InvalidAssetError(`${name} is missing`);
    return asset;
  });

export interface AssetRequestOptions {
  feed: FeedOptions;
  signal: AbortSignal;
  /** Deadline for each file, in milliseconds. */
  deadline?: number | undefined;
}

/**
 * Reads `release.json` and its signature.
 * @throws InvalidAssetError, FeedError, or any error from fetch
 */
export async function readProofFiles(release: Release, asking: AssetRequestOptions): Promise<Uint8Array[]> {
  const files: Uint8Array[] = [];
  for (const asset of requireProofAssets(release)) files.push(await readAsset(asset, asking));
  return files;
}

/** @throws InvalidAssetError, FeedError, or any error from fetch */
export function readAsset(
  { name, url: address }: ReleaseAsset,
  { feed, signal, deadline }: AssetRequestOptions,
): Promise<Uint8Array> {
  // Resolve relative addresses, which a static feed may contain.
  const url = URL.parse(address, feed.url);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new InvalidAssetError(`the address of ${name} is neither http nor https`);
  if (url.protocol === 'http:' && new URL(feed.url).protocol === 'https:')
    throw new InvalidAssetError(`the release feed uses https, but ${name} is at http://${url.host}`);
  const following = { feed, headers: {}, signal };
  return requestFromFeed(
    url,
    following,
    async ({ response }) => {
      requireOkStatus(response);
      const bytes = await readResponseBytes(response, limit);
      if (bytes === null) throw new InvalidAssetError(`${name} is larger than ${limit / 1024} KiB`);
      return bytes;
    },
    deadline,
  );
}
