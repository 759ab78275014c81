import {
  type Channel,
  channelOf,
  channels,
  findNewestRelease,
  listChannelReleases,
  type Release,
} from '../core/release/channel.ts';
import { FeedError, PageTooLargeError } from './feed-error.ts';
import type { FeedOptions } from './follow-redirects.ts';
import { createFirstPageUrl, findLatestReleaseUrl, findPageSize } from './forge.ts';
import { type FeedPage, readFeedPage } from './read-page.ts';
import { createTooManyReleasesError, maxFeedEntries, toReleases } from './to-releases.ts';

/** Maximum number of pages after the first page. */
const mostFurtherPages = 5;
/** Number of newest releases per channel whose notes are kept. Notes are long, and only the newest are shown. */
const mostNotes = 5;

/** Cached page. The server sends the page again only if it has changed. */
interface CachedPage extends Omit<FeedPage, 'content'> {
  releases: readonly Release[];
}

export interface FeedCheckResult {
  /**
   * Releases of each channel, newest first. If nothing has changed, this is the same array as in the previous result.
   */
  releases: readonly Release[];
  /** Pages keyed by address, including the page of the newest stable release. */
  pages: ReadonlyMap<string, CachedPage>;
  /** Number of releases per page, reduced until no page was too large; null if the page size cannot be set. */
  pageSize: number | null;
}

interface FeedCheckInput {
  /** Result of the previous check; null for the first check. */
  known: FeedCheckResult | null;
  /** Channel for which a release is needed. Further pages are read only until such a release is found. */
  channel: Channel;
  /** Whether to list the files attached to the releases. */
  withAssets?: boolean;
  signal: AbortSignal;
}

/**
 * Reads the first page, the forge's latest release, and further pages if necessary. The server resends only changed
 * pages. Incomplete responses are never used.
 * @throws FeedError, or any error from fetch
 */
export async function readFeed(feed: FeedOptions, facts: FeedCheckInput): Promise<FeedCheckResult> {
  const list = new URL(feed.url);
  const check = new FeedCheck(feed, facts);
  // Begin with the page size of the previous check, because each attempt with a page size that is too large wastes a
  // download.
  let size = facts.known?.pageSize ?? findPageSize(list);
  for (;;) {
    try {
      const pages = await check.readPages(list, size);
      return { releases: check.mergeReleases(pages), pages, pageSize: size };
    } catch (error) {
      if (!(error instanceof PageTooLargeError) || size === null || size === 1) throw error;
      // Start again with the first page, because the boundaries of pages depend on their size.
      size = Math.floor(size / 2);
    }
  }
}

/**
 * Reads the newest release of a channel, with a list of its attached files; null if the channel has no release.
 * @throws FeedError, or any error from fetch
 */
export async function readNewestRelease(
  url: string,
  channel: Channel,
  signal: AbortSignal,
): Promise<Release | null> {
  const { releases } = await readFeed({ url }, { known: null, channel, withAssets: true, signal });
  return findNewestRelease(channel, releases);
}

/**
 * State of one check of a feed. It is kept when the page size changes, so that the latest release is requested only
 * once.
 */
class FeedCheck {
  readonly #feed: FeedOptions;
  readonly #facts: FeedCheckInput;
  #latest: Promise<CachedPage | null> | null = null;

  constructor(feed: FeedOptions, facts: FeedCheckInput) {
    this.#feed = feed;
    this.#facts = facts;
  }

  /** Reads the pages sequentially, as forges require. */
  async readPages(list: URL, size: number | null): Promise<Map<string, CachedPage>> {
    const pages = new Map<string, CachedPage>();
    let url: URL | null = createFirstPageUrl(list, size);
    for (let count = 0; url && count <= mostFurtherPages && !pages.has(url.href); count++) {
      const page = await this.#read(url, 'list');
      pages.set(url.href, page);
      const latestAt = findLatestReleaseUrl(list);
      if (count === 0 && latestAt) {
        this.#latest ??= this.#readLatest(latestAt);
        const latest = await this.#latest;
        if (latest) pages.set(latestAt.href, latest);
      }
      url = hasReleaseOf(this.#facts.channel, pages) ? null : page.next;
    }
    return pages;
  }

  /** Returns the releases of all pages, each once. */
  mergeReleases(pages: ReadonlyMap<string, CachedPage>): readonly Release[] {
    const { known } = this.#facts;
    const isKnown = ([url, page]: [string, CachedPage]) => known?.pages.get(url) === page;
    if (known?.pages.size === pages.size && [...pages].every(isKnown)) return known.releases;
    const releases = new Map<string, Release>();
    for (const release of [...pages.values()].flatMap((page) => page.releases))
      if (!releases.has(release.version)) releases.set(release.version, release);
    if (releases.size > maxFeedEntries) throw createTooManyReleasesError();
    return sortNewestFirst([...releases.values()]);
  }

  /** Reads a page, or returns the cached page if it has not changed. */
  async #read(url: URL, what: 'list' | 'release'): Promise<CachedPage> {
    const known = this.#facts.known?.pages.get(url.href);
    const page = await readFeedPage(url, this.#feed, known?.validators ?? null, this.#facts.signal);
    if (page === null && known) return known;
    if (page === null) throw new FeedError('the server sent an unexpected 304 response');
    const { content, validators, next } = page;
    const releases = toReleases(what === 'list' ? content : [content], this.#facts);
    return { releases: sortNewestFirst(releases), validators, next };
  }

  /**
   * Reads the release that the forge calls the latest: the newest by date, not by version. Returns null if there is
   * none, or if access is denied; for example, GitLab shows guests only the list.
   */
  async #readLatest(url: URL): Promise<CachedPage | null> {
    try {
      return await this.#read(url, 'release');
    } catch (error) {
      const { status, wait } = error instanceof FeedError ? error : { status: null, wait: null };
      if (status !== null && status >= 400 && status < 500 && wait === null) return null;
      // Do not rethrow PageTooLargeError: a smaller page size would not make this response smaller.
      throw error instanceof PageTooLargeError
        ? new FeedError('its latest release is larger than 8 MiB')
        : error;
    }
  }
}

const hasReleaseOf = (channel: Channel, pages: ReadonlyMap<string, CachedPage>): boolean =>
  [...pages.values()].some(({ releases }) => releases.some(({ version }) => channelOf(version) === channel));

function sortNewestFirst(releases: readonly Release[]): Release[] {
  return channels.flatMap((channel) =>
    listChannelReleases(channel, releases).map((release, location) =>
      location < mostNotes ? release : { ...release, notes: null },
    ),
  );
}
