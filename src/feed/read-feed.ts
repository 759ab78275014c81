import {
  type Channel,
  channelOf,
  channels,
  newestOn,
  type Release,
  releasesOn,
} from '../core/release/channel.ts';
import { FeedError, PageTooLarge } from './feed-error.ts';
import type { FeedOptions } from './follow.ts';
import { firstPage, latestRelease, pageSizeFor } from './forge.ts';
import { type Page, readPage } from './read-page.ts';
import { mostEntries, releasesOf, tooMany } from './shapes.ts';

/** After the first. */
const mostFurtherPages = 5;
/** Of each channel: notes are long, and only the newest are shown. */
const mostNotes = 5;

/** A page as it was read last, to be asked for again only where it has changed. */
interface KnownPage extends Omit<Page, 'content'> {
  releases: readonly Release[];
}

/** What a check has read. */
export interface FeedAnswer {
  /** Of each channel the newest first. The same list as before where nothing has changed. */
  releases: readonly Release[];
  /** By their addresses, that of the newest stable release among them. */
  pages: ReadonlyMap<string, KnownPage>;
  /** With how many releases the forge gives pages that are not too large; null where that cannot be asked for. */
  size: number | null;
}

/** What a check goes by. */
interface CheckFacts {
  /** Of the check before. */
  known: FeedAnswer | null;
  /** Further pages are read only while none of its releases was found. */
  channel: Channel;
  /** What is attached to the releases is read, too. */
  withAssets?: boolean;
  signal: AbortSignal;
}

/**
 * Reads the first page of a feed, what the forge calls its latest release, and further pages as far as they are needed.
 * What has not changed since the last check is not sent again. Nothing is handed out of an answer that could not be
 * read to its end.
 * @throws FeedError, or whatever fetch throws
 */
export async function readFeed(feed: FeedOptions, facts: CheckFacts): Promise<FeedAnswer> {
  const list = new URL(feed.url);
  const check = new Check(feed, facts);
  // A size that was too large once is not tried again: each try costs all that is read until it is known.
  let size = facts.known?.size ?? pageSizeFor(list);
  for (;;) {
    try {
      const pages = await check.pages(list, size);
      return { releases: check.merge(pages), pages, size };
    } catch (error) {
      if (!(error instanceof PageTooLarge) || size === null || size === 1) throw error;
      // From the first page on: what the pages of the old size held need not be what as many of the new one hold.
      size = Math.floor(size / 2);
    }
  }
}

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

/** One check: what it has read in one size need not be asked for again in another. */
class Check {
  readonly #feed: FeedOptions;
  readonly #facts: CheckFacts;
  #latest: Promise<KnownPage | null> | null = null;

  constructor(feed: FeedOptions, facts: CheckFacts) {
    this.#feed = feed;
    this.#facts = facts;
  }

  /** One after the other, as forges ask for it. */
  async pages(list: URL, size: number | null): Promise<Map<string, KnownPage>> {
    const pages = new Map<string, KnownPage>();
    let url: URL | null = firstPage(list, size);
    for (let count = 0; url && count <= mostFurtherPages && !pages.has(url.href); count++) {
      const page = await this.#read(url, 'list');
      pages.set(url.href, page);
      const latestAt = latestRelease(list);
      if (count === 0 && latestAt) {
        this.#latest ??= this.#readLatest(latestAt);
        const latest = await this.#latest;
        if (latest) pages.set(latestAt.href, latest);
      }
      url = hasReleaseOf(this.#facts.channel, pages) ? null : page.next;
    }
    return pages;
  }

  /** The releases of all pages, each once. */
  merge(pages: ReadonlyMap<string, KnownPage>): readonly Release[] {
    const { known } = this.#facts;
    const isKnown = ([url, page]: [string, KnownPage]) => known?.pages.get(url) === page;
    if (known?.pages.size === pages.size && [...pages].every(isKnown)) return known.releases;
    const releases = new Map<string, Release>();
    for (const release of [...pages.values()].flatMap((page) => page.releases))
      if (!releases.has(release.version)) releases.set(release.version, release);
    if (releases.size > mostEntries) throw tooMany();
    return newestFirst([...releases.values()]);
  }

  /** The page as it was before where it has not changed. */
  async #read(url: URL, what: 'list' | 'release'): Promise<KnownPage> {
    const known = this.#facts.known?.pages.get(url.href);
    const page = await readPage(url, this.#feed, known?.validators ?? null, this.#facts.signal);
    if (page === null && known) return known;
    if (page === null) throw new FeedError('it sent an unexpected 304 response');
    const { content, validators, next } = page;
    const releases = releasesOf(what === 'list' ? content : [content], this.#facts);
    return { releases: newestFirst(releases), validators, next };
  }

  /**
   * What the forge calls its latest release: the newest of them by date, so that it need not be the greatest. Null where
   * there is none, or where it is not told: GitLab shows guests the list alone.
   */
  async #readLatest(url: URL): Promise<KnownPage | null> {
    try {
      return await this.#read(url, 'release');
    } catch (error) {
      const { status, wait } = error instanceof FeedError ? error : { status: null, wait: null };
      if (status !== null && status >= 400 && status < 500 && wait === null) return null;
      // Fewer releases to a page make this answer no smaller.
      throw error instanceof PageTooLarge ? new FeedError('its latest release is larger than 8 MiB') : error;
    }
  }
}

const hasReleaseOf = (channel: Channel, pages: ReadonlyMap<string, KnownPage>): boolean =>
  [...pages.values()].some(({ releases }) => releases.some(({ version }) => channelOf(version) === channel));

function newestFirst(releases: readonly Release[]): Release[] {
  return channels.flatMap((channel) =>
    releasesOn(channel, releases).map((release, place) =>
      place < mostNotes ? release : { ...release, notes: null },
    ),
  );
}
