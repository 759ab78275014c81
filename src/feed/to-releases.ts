import * as z from 'zod/mini';
import { channelOf, type Release, type ReleaseAsset } from '../core/release/channel.ts';
import { FeedError } from './feed-error.ts';

/** Maximum length of release notes in UTF-16 code units. */
const longestNotes = 64 * 1024;
const longestUrl = 2048;

/** Maximum number of releases in a feed. Reading a longer list would block the server. */
export const maxFeedEntries = 5000;

const text = z.nullish(z.string());
const assets = z.optional(z.unknown());

/**
 * Release in the GitHub format (https://docs.github.com/en/rest/releases/releases), which Gitea and Forgejo also use.
 */
const gitHubRelease = z.pipe(
  z.object({
    tag_name: z.string(),
    draft: z.boolean(),
    prerelease: z.boolean(),
    html_url: text,
    body: text,
    published_at: text,
    assets,
  }),
  z.transform(({ tag_name, draft, prerelease, html_url, body, published_at, assets }) => ({
    version: tag_name,
    url: html_url,
    notes: body,
    publishedAt: published_at,
    assets,
    offered: !draft && !(prerelease && channelOf(tag_name) === 'stable'),
  })),
);

/** Release in the GitLab format (https://docs.gitlab.com/api/releases). */
const gitLabRelease = z.pipe(
  z.object({
    tag_name: z.string(),
    released_at: z.string(),
    upcoming_release: z.optional(z.boolean()),
    description: text,
    _links: z.nullish(z.object({ self: text })),
    assets,
  }),
  z.transform(({ tag_name, released_at, upcoming_release, description, _links, assets }) => ({
    version: tag_name,
    url: _links?.self,
    notes: description,
    publishedAt: released_at,
    assets,
    offered: upcoming_release !== true,
  })),
);

const forgeRelease = z.union([gitHubRelease, gitLabRelease]);
const staticRelease = z.pipe(
  z.object({ version: z.string(), url: text, notes: text, publishedAt: text, requires: text, assets }),
  z.transform((entry) => ({ ...entry, offered: true })),
);

// Accept entries of any type, because they are counted here and validated later.
const list = z.custom<unknown[]>(Array.isArray);
const staticPage = z.object({ releases: list });
const gitLabAssets = z.object({ links: list });

const asset = z.union([
  // Asset in the GitHub format (https://docs.github.com/en/rest/releases/assets), which Gitea and Forgejo also use.
  z.pipe(
    z.object({ name: z.string(), browser_download_url: z.string() }),
    z.transform(({ name, browser_download_url }) => ({ name, url: browser_download_url })),
  ),
  // Link in the GitLab format (https://docs.gitlab.com/api/releases/links), or asset in a static file.
  z.object({ name: z.string(), url: z.string() }),
]);

const time = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

/**
 * Returns the releases on a feed's page, each tag once. Omits invalid entries, drafts, upcoming releases, tags without
 * a channel, and stable tags marked as pre-releases.
 * @param withAssets - whether to list attached files
 * @throws FeedError if the page is not a list of releases
 */
export function toReleases(page: unknown, { withAssets = false } = {}): Release[] {
  const forge = list.safeParse(page).data;
  const entries = forge ?? staticPage.safeParse(page).data?.releases;
  if (!entries) throw noList();
  if (entries.length > maxFeedEntries) throw createTooManyReleasesError();
  const schema = forge ? forgeRelease : staticRelease;
  const read = entries.flatMap((entry) => schema.safeParse(entry).data ?? []);
  if (entries.length > 0 && read.length === 0) throw noList();

  const releases = new Map<string, Release>();
  for (const { version, url, notes, publishedAt, offered, assets, ...more } of read) {
    if (!offered || channelOf(version) === null || releases.has(version)) continue;
    const requires = 'requires' in more ? more.requires : null;
    releases.set(version, {
      version,
      url: toWebAddress(url),
      notes: shortenNotes(notes),
      publishedAt: toUtcTime(publishedAt),
      // An invalid requirement can be omitted, because the updater reads the requirement from the image anyway.
      ...(requires && channelOf(requires) !== null ? { requires } : {}),
      ...(withAssets ? { assets: assetsOf(assets) } : {}),
    });
  }
  return [...releases.values()];
}

export const createTooManyReleasesError = () =>
  new FeedError(`it lists more than ${maxFeedEntries} releases`);
const noList = () => new FeedError('the response is not a list of releases');

/** Returns the valid attached files in an entry of a feed. */
export function assetsOf(value: unknown): ReleaseAsset[] {
  const entries = gitLabAssets.safeParse(value).data?.links ?? list.safeParse(value).data ?? [];
  return entries.flatMap((entry) => asset.safeParse(entry).data ?? []);
}

/**
 * Returns an http or https address; null for any other value. The dashboard links to the address, so `javascript:` must
 * not be allowed.
 */
function toWebAddress(value: string | null | undefined): string | null {
  const url = value && value.length <= longestUrl ? URL.parse(value) : null;
  return url && /^https?:$/.test(url.protocol) ? url.href : null;
}

function shortenNotes(notes: string | null | undefined): string | null {
  // Do not cut the text in the middle of a surrogate pair.
  return notes?.slice(0, longestNotes).replace(/[\uD800-\uDBFF]$/, '') || null;
}

function toUtcTime(value: string | null | undefined): string | null {
  const date = new Date(time.safeParse(value).data ?? Number.NaN);
  const iso = Number.isNaN(date.getTime()) ? '' : date.toISOString();
  // Ignore a time whose year, after the conversion to UTC, no longer has exactly four digits.
  return /^\d{4}-/.test(iso) ? iso : null;
}
