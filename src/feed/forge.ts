/** How the API of a forge is asked for releases (docs/contract.md 8.16). */
interface Forge {
  /** The parameter for how many releases a page has. */
  size: string;
  /** As many as the forge gives at most. */
  most: number;
  /** Where, below the list, the newest release is that is no pre-release. */
  latest: string;
}

/** By the end of the list's path, as a forge may be below a path of its own. */
const forges: readonly (readonly [path: RegExp, forge: Forge])[] = [
  // https://docs.gitlab.com/api/rest/#pagination and https://docs.gitlab.com/api/releases
  [/\/api\/v4\/projects\/[^/]+\/releases\/?$/, { size: 'per_page', most: 100, latest: 'permalink/latest' }],
  // Gitea and Forgejo give 50 unless their operator has set MAX_RESPONSE_ITEMS, and take a larger number for it.
  [/\/api\/v1\/repos\/[^/]+\/[^/]+\/releases\/?$/, { size: 'limit', most: 50, latest: 'latest' }],
  // https://docs.github.com/en/rest/releases/releases, and GitHub Enterprise below /api/v3.
  [/\/repos\/[^/]+\/[^/]+\/releases\/?$/, { size: 'per_page', most: 100, latest: 'latest' }],
];

const forgeOf = ({ pathname }: URL): Forge | null =>
  forges.find(([path]) => path.test(pathname))?.[1] ?? null;

/** How many releases a page is asked for first; null for a list that has no such parameter, such as a file. */
export function pageSizeFor(list: URL): number | null {
  const forge = forgeOf(list);
  if (!forge) return null;
  const named = list.searchParams.get(forge.size) ?? '';
  // A size that the address names is its author's wish.
  return /^[1-9]\d{0,3}$/.test(named) ? Number(named) : forge.most;
}

/** The first page of the list, with so many releases. */
export function firstPage(list: URL, size: number | null): URL {
  const forge = forgeOf(list);
  const page = new URL(list);
  if (forge && size !== null) page.searchParams.set(forge.size, String(size));
  return page;
}

/** Where the newest release that is no pre-release is asked for by itself; null where that cannot be asked. */
export function latestRelease(list: URL): URL | null {
  const forge = forgeOf(list);
  if (!forge) return null;
  const latest = new URL(list);
  // What stands behind the `?` stays: it may be a token.
  latest.pathname = `${latest.pathname.replace(/\/$/, '')}/${forge.latest}`;
  return latest;
}

/**
 * The page after the one that was asked for, by the headers of its answer; null for the last one. It is on the origin
 * that has answered: anything else is no page of this feed.
 */
export function nextPage(headers: Headers, { asked, answered }: { asked: URL; answered: URL }): URL | null {
  const next = linkToNext(headers.get('link'), answered);
  if (next?.origin === answered.origin) return next;
  // Gitea and GitLab write the address that their operator has set, which need not be the one that they were asked at.
  const number = next ? next.searchParams.get('page') : headers.get('x-next-page');
  if (!forgeOf(asked) || !/^[1-9]\d{0,8}$/.test(number ?? '')) return null;
  const page = new URL(asked);
  page.searchParams.set('page', number ?? '');
  return page;
}

/** The `rel="next"` of a Link header (RFC 8288). */
function linkToNext(link: string | null, page: URL): URL | null {
  for (const [, target = '', parameters = ''] of (link ?? '').matchAll(/<([^<>]*)>([^<]*)/g)) {
    const [, quoted, bare = ''] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? [];
    if ((quoted ?? bare).toLowerCase().split(/\s+/).includes('next')) return URL.parse(target, page.href);
  }
  return null;
}
