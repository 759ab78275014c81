import type { Release, ReleaseAsset } from '../core/release/channel.ts';
import { FeedError } from './feed-error.ts';
import type { FeedOptions } from './follow-redirects.ts';
import { findPageSize } from './forge.ts';
import { type AssetRequestOptions, readAsset } from './read-proof.ts';

/** The channel file and its signature. */
const names = ['channel.json', 'channel.json.sigstore.json'] as const;
/** Number of newest releases that are searched for the channel file, if the feed is from a forge. */
const mostCopies = 3;

/** A copy of the channel file, with its signature if there is one. */
export interface ChannelFileLocation {
  feed: FeedOptions;
  files: readonly [file: ReleaseAsset, bundle: ReleaseAsset | undefined];
}

/**
 * Lists where the channel file may be: at the configured address, next to a static feed, or attached to one of the
 * newest releases.
 * @param releases - releases of one channel
 */
export function listChannelFileLocations(
  feed: FeedOptions & { channelUrl?: string },
  releases: readonly Release[],
): ChannelFileLocation[] {
  const deployment = new URL(feed.url);
  if (feed.channelUrl === undefined && findPageSize(deployment) !== null) {
    const time = ({ publishedAt }: Release) => Date.parse(publishedAt ?? '') || 0;
    const newest = releases.toSorted((a, b) => time(b) - time(a)).slice(0, mostCopies);
    return newest.flatMap(({ assets = [] }) => {
      const [file, bundle] = names.map((name) => assets.find((asset) => asset.name === name));
      return file ? [{ feed, files: [file, bundle] }] : [];
    });
  }
  const file = new URL(feed.channelUrl ?? names[0], deployment);
  const bundle = new URL(file);
  bundle.pathname += '.sigstore.json';
  // The operator chose this address, so it may be in a private network. The feed's headers are sent only to the feed's
  // origin.
  const base = file.origin === deployment.origin ? feed : { url: file.href };
  return [
    {
      feed: base,
      files: [
        { name: names[0], url: file.href },
        { name: names[1], url: bundle.href },
      ],
    },
  ];
}

/**
 * Reads the channel file or its signature; null if the file does not exist.
 * @throws InvalidAssetError, FeedError, or any error from fetch
 */
export async function readAssetIfFound(
  asset: ReleaseAsset,
  asking: AssetRequestOptions,
): Promise<Uint8Array | null> {
  try {
    return await readAsset(asset, asking);
  } catch (error) {
    // Treat status 403 as a missing file, because object stores return it for missing files.
    if (error instanceof FeedError && error.wait === null && [403, 404, 410].includes(error.status ?? 0))
      return null;
    throw error;
  }
}
