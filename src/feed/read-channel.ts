import type { Asset, Release } from '../core/release/channel.ts';
import { FeedError } from './feed-error.ts';
import type { FeedOptions } from './follow.ts';
import { pageSizeFor } from './forge.ts';
import { type ProofAsking, readAsset } from './read-proof.ts';

const channelFileName = 'channel.json';
const bundleSuffix = '.sigstore.json';
/** The newest releases of a forge that may have the channel file attached. */
const mostCopies = 3;

/** Where a copy of the channel file and its signature may be; null if no signature is listed. */
export interface ChannelPlace {
  feed: FeedOptions;
  file: Asset;
  bundle: Asset | null;
}

/** The bytes of a channel file and its signature; null if it is not signed. */
export interface ChannelCopy {
  file: Uint8Array;
  bundle: Uint8Array | null;
}

/**
 * Where the channel file may be: at the configured address, beside a static feed, or attached to the newest releases.
 * @param releases those of one channel
 */
export function channelPlaces(
  feed: FeedOptions & { channelUrl?: string },
  releases: readonly Release[],
): ChannelPlace[] {
  const home = new URL(feed.url);
  if (feed.channelUrl === undefined && pageSizeFor(home) !== null) {
    const time = ({ publishedAt }: Release) => Date.parse(publishedAt ?? '') || 0;
    const newest = releases.toSorted((a, b) => time(b) - time(a)).slice(0, mostCopies);
    return newest.flatMap(({ assets = [] }) => {
      const named = (name: string) => assets.find((asset) => asset.name === name) ?? null;
      const file = named(channelFileName);
      return file ? [{ feed, file, bundle: named(channelFileName + bundleSuffix) }] : [];
    });
  }
  const url = new URL(feed.channelUrl ?? channelFileName, home);
  const bundle = new URL(url);
  bundle.pathname += bundleSuffix;
  return [
    {
      // The operator has chosen the address, so it may be in a private network. The feed's headers stay at its origin.
      feed: url.origin === home.origin ? feed : { url: url.href },
      file: { name: channelFileName, url: url.href },
      bundle: { name: channelFileName + bundleSuffix, url: bundle.href },
    },
  ];
}

/** Null if there is no channel file at this place. @throws BadAsset, FeedError, or whatever fetch throws */
export async function readChannelCopy(
  { feed, file: asset, bundle }: ChannelPlace,
  asking: Omit<ProofAsking, 'feed'>,
): Promise<ChannelCopy | null> {
  const file = await ifFound(readAsset(asset, { ...asking, feed }));
  return file && { file, bundle: bundle && (await ifFound(readAsset(bundle, { ...asking, feed }))) };
}

/** Object stores answer 403 for a missing file. */
async function ifFound(asked: Promise<Uint8Array>): Promise<Uint8Array | null> {
  try {
    return await asked;
  } catch (error) {
    const isMissing =
      error instanceof FeedError && error.wait === null && [403, 404, 410].includes(error.status ?? 0);
    if (isMissing) return null;
    throw error;
  }
}
