import type { Asset, Release } from '../core/release/channel.ts';
import { readBytes } from '../wire/read-text.ts';
import { askFeed, expectFound } from './ask.ts';
import type { FeedOptions } from './follow.ts';

/** What a release says of itself, and what proves it, as they are attached to it. */
const proofFiles = ['release.json', 'release.json.sigstore.json'] as const;

/** Of each of them, in bytes. */
const limit = 256 * 1024;

/** What is attached to a release is none that anybody could have meant: it is not asked for again. */
export class BadAsset extends Error {
  override readonly name = 'BadAsset';
}

/** The two files of a release. @throws BadAsset */
export const proofAssets = ({ assets = [] }: Release): Asset[] =>
  proofFiles.map((name) => {
    const asset = assets.find((one) => one.name === name);
    if (asset === undefined) throw new BadAsset(`${name} is missing`);
    return asset;
  });

/** What a proof is asked for by. */
export interface ProofAsking {
  feed: FeedOptions;
  signal: AbortSignal;
  /** Of each file, in milliseconds. */
  deadline?: number | undefined;
}

/**
 * The bytes of the two files.
 * @throws BadAsset, FeedError, or whatever fetch throws
 */
export async function readProof(release: Release, asking: ProofAsking): Promise<Uint8Array[]> {
  const files: Uint8Array[] = [];
  for (const asset of proofAssets(release)) files.push(await readAsset(asset, asking));
  return files;
}

/** @throws BadAsset, FeedError, or whatever fetch throws */
export function readAsset(
  { name, url: address }: Asset,
  { feed, signal, deadline }: ProofAsking,
): Promise<Uint8Array> {
  // A static file may name what lies beside it.
  const url = URL.parse(address, feed.url);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new BadAsset(`the address of ${name} is neither http nor https`);
  if (url.protocol === 'http:' && new URL(feed.url).protocol === 'https:')
    throw new BadAsset(`the release feed uses https, but ${name} is at http://${url.host}`);
  const following = { feed, headers: {}, signal };
  return askFeed(
    url,
    following,
    async ({ response }) => {
      expectFound(response);
      const bytes = await readBytes(response, limit);
      if (bytes === null) throw new BadAsset(`${name} is larger than ${limit / 1024} KiB`);
      return bytes;
    },
    deadline,
  );
}
