import { type Channel, newestOn, type Release } from '../release/channel.ts';
import { readFeed } from './feed-check.ts';

/**
 * The newest release of a channel with what is attached to it; null where the channel has none. Asked once, for a program
 * that does not go on.
 * @throws FeedError, or whatever fetch throws
 */
export async function readNewestRelease(
  url: string,
  channel: Channel,
  signal: AbortSignal,
): Promise<Release | null> {
  const { releases } = await readFeed({ url }, { known: null, channel, withAssets: true, signal });
  return newestOn(channel, releases);
}
