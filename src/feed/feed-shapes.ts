import * as z from 'zod/mini';
import { channelOf, type Release } from '../release/channel.ts';
import { assetsOf } from './asset-shapes.ts';
import { FeedError } from './feed-error.ts';

/** UTF-16 code units. */
const longestNotes = 64 * 1024;
const longestUrl = 2048;

/** More than this is no feed: reading it would keep the server from its work. */
export const mostEntries = 5000;

const text = z.nullish(z.string());

/** https://docs.github.com/en/rest/releases/releases; Gitea and Forgejo have the same shape. */
const gitHubRelease = z.pipe(
  z.object({
    tag_name: z.string(),
    draft: z.boolean(),
    prerelease: z.boolean(),
    html_url: text,
    body: text,
    published_at: text,
    assets: z.optional(z.unknown()),
  }),
  z.transform((entry) => ({
    version: entry.tag_name,
    url: entry.html_url,
    notes: entry.body,
    publishedAt: entry.published_at,
    assets: entry.assets,
    offered: !entry.draft && !(entry.prerelease && channelOf(entry.tag_name) === 'stable'),
  })),
);

/** https://docs.gitlab.com/api/releases */
const gitLabRelease = z.pipe(
  z.object({
    tag_name: z.string(),
    released_at: z.string(),
    upcoming_release: z.optional(z.boolean()),
    description: text,
    _links: z.nullish(z.object({ self: text })),
    assets: z.optional(z.unknown()),
  }),
  z.transform((entry) => ({
    version: entry.tag_name,
    url: entry._links?.self,
    notes: entry.description,
    publishedAt: entry.released_at,
    assets: entry.assets,
    offered: entry.upcoming_release !== true,
  })),
);

const staticRelease = z.pipe(
  z.object({
    version: z.string(),
    url: text,
    notes: text,
    publishedAt: text,
    requires: text,
    assets: z.optional(z.unknown()),
  }),
  z.transform((entry) => ({ ...entry, offered: true })),
);

const forgeRelease = z.union([gitHubRelease, gitLabRelease]);
interface Entry {
  entry: unknown;
  schema: typeof forgeRelease | typeof staticRelease;
}

// Entries are validated one by one, and not before they are counted.
const list = z.custom<unknown[]>(Array.isArray);
const staticPage = z.object({ releases: list });

const time = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

/**
 * The releases that a feed's pages (parsed JSON, in order) offer, each tag once. What does not parse is left out, and so
 * are drafts, upcoming releases, tags of another shape, and stable tags that their publisher calls a pre-release.
 * What is attached to them is read where it is asked for.
 * @throws FeedError where these are no lists of releases
 */
export function releasesOf(pages: readonly unknown[], { withAssets = false } = {}): Release[] {
  const entries = pages.flatMap(entriesOf);
  if (entries.length > mostEntries) throw tooMany();
  const read = entries.flatMap(({ entry, schema }) => schema.safeParse(entry).data ?? []);
  if (entries.length > 0 && read.length === 0) throw noList();

  const releases = new Map<string, Release>();
  for (const { version, url, notes, publishedAt, offered, assets, ...more } of read) {
    if (!offered || channelOf(version) === null || releases.has(version)) continue;
    const requires = 'requires' in more ? more.requires : null;
    releases.set(version, {
      version,
      url: webAddress(url),
      notes: shortened(notes),
      publishedAt: timeInUtc(publishedAt),
      // Of another shape, it says nothing; the updater asks the image itself.
      ...(requires && channelOf(requires) !== null ? { requires } : {}),
      ...(withAssets ? { assets: assetsOf(assets) } : {}),
    });
  }
  return [...releases.values()];
}

function entriesOf(page: unknown): Entry[] {
  const forge = list.safeParse(page).data;
  const entries = forge ?? staticPage.safeParse(page).data?.releases;
  if (!entries) throw noList();
  if (entries.length > mostEntries) throw tooMany();
  const schema = forge ? forgeRelease : staticRelease;
  return entries.map((entry) => ({ entry, schema }));
}

export const tooMany = () => new FeedError(`it lists more than ${mostEntries} releases`);
const noList = () => new FeedError('the answer is no list of releases');

/** It becomes a link on the dashboard: `javascript:` has no business there. */
function webAddress(value: string | null | undefined): string | null {
  const url = value && value.length <= longestUrl ? URL.parse(value) : null;
  return url && /^https?:$/.test(url.protocol) ? url.href : null;
}

function shortened(notes: string | null | undefined): string | null {
  // The cut must not fall into the middle of a surrogate pair.
  return notes?.slice(0, longestNotes).replace(/[\uD800-\uDBFF]$/, '') || null;
}

function timeInUtc(value: string | null | undefined): string | null {
  const date = new Date(time.safeParse(value).data ?? Number.NaN);
  const iso = Number.isNaN(date.getTime()) ? '' : date.toISOString();
  // An offset can move a time out of the years that have four digits.
  return /^\d{4}-/.test(iso) ? iso : null;
}
