import type { Asset, Release } from '../core/release/channel.ts';
import { readBytes } from '../wire/read-text.ts';
import type { FeedOptions } from './follow-redirects.ts';
import { requestFromFeed, requireOk } from './request-from-feed.ts';

/** A release's description, and the signature of the description. */
const proofFiles = ['release.json', 'release.json.sigstore.json'] as const;

/** Maximum size of an attached file in bytes. */
const limit = 256 * 1024;

/** The attached file is missing or invalid. It is not requested again. */
export class BadAsset extends Error {
  override readonly name = 'BadAsset';
}

/** Finds `release.json` and its signature among a release's attached files. @throws BadAsset if a file is missing */
export const requireProofAssets = ({ assets = [] }: Release): Asset[] =>
  proofFiles.map((name) => {
    const asset = assets.find((one) => one.name === name);
    if (asset === undefined) throw new BadAsset(`${name} is missing`);
    return asset;
  });

export interface ProofRequest {
  feed: FeedOptions;
  signal: AbortSignal;
  /** Deadline for each file, in milliseconds. */
  deadline?: number | undefined;
}

/**
 * Reads `release.json` and its signature.
 * @throws BadAsset, FeedError, or any error of fetch
 */
export async function readProof(release: Release, asking: ProofRequest): Promise<Uint8Array[]> {
  const files: Uint8Array[] = [];
  for (const asset of requireProofAssets(release)) files.push(await readAsset(asset, asking));
  return files;
}

/** @throws BadAsset, FeedError, or any error of fetch */
export function readAsset(
  { name, url: address }: Asset,
  { feed, signal, deadline }: ProofRequest,
): Promise<Uint8Array> {
  // A static feed may contain relative addresses.
  const url = URL.parse(address, feed.url);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new BadAsset(`the address of ${name} is neither http nor https`);
  if (url.protocol === 'http:' && new URL(feed.url).protocol === 'https:')
    throw new BadAsset(`the release feed uses https, but ${name} is at http://${url.host}`);
  const following = { feed, headers: {}, signal };
  return requestFromFeed(
    url,
    following,
    async ({ response }) => {
      requireOk(response);
      const bytes = await readBytes(response, limit);
      if (bytes === null) throw new BadAsset(`${name} is larger than ${limit / 1024} KiB`);
      return bytes;
    },
    deadline,
  );
}
