import { channelOf, channels, type Release } from '../release/channel.ts';
import { compareVersions } from '../release/order.ts';
import type { FeedOptions } from './feed-options.ts';
import { readPage, type Validators } from './feed-request.ts';
import { releasesOf } from './feed-shapes.ts';

const mostPages = 5;
/** Of each channel, lest the builds of one push out the releases of the other. */
const mostReleases = 100;
/** Notes are long, and only the newest are shown. */
const mostNotes = 5;

export interface FeedAnswer {
  releases: readonly Release[];
  /** Of the first page. */
  validators: Validators | null;
}

/**
 * Reads all pages of a feed; null where the first has not changed since `known`, which takes one request and no body.
 * Nothing is handed out of an answer that could not be read to its end.
 * @throws FeedError, or whatever fetch throws
 */
export async function readFeed(
  feed: FeedOptions,
  known: Validators | null,
  signal: AbortSignal,
): Promise<FeedAnswer | null> {
  const contents: unknown[] = [];
  let validators: Validators | null = null;
  let url: URL | null = new URL(feed.url);
  while (url && contents.length < mostPages) {
    const page = await readPage(url, feed, validators ? null : known, signal);
    if (!page) return null;
    contents.push(page.content);
    validators ??= page.validators;
    url = page.next;
  }
  return { releases: newest(releasesOf(contents)), validators };
}

function newest(releases: readonly Release[]): Release[] {
  return channels.flatMap((channel) =>
    releases
      .filter(({ version }) => channelOf(version) === channel)
      .toSorted((a, b) => compareVersions(b.version, a.version))
      .slice(0, mostReleases)
      .map((release, place) => (place < mostNotes ? release : { ...release, notes: null })),
  );
}
