/** Release API of a forge (docs/contract.md 8.16). */
interface Forge {
  /** Name of the query parameter for the page size, such as `per_page`. */
  pageSizeParameter: string;
  /** Maximum number of releases per page. */
  maxPageSize: number;
  /** Path, relative to the list, of the newest release that is not a pre-release. */
  latestPath: string;
}

/** Forges, identified by the end of the release list's path, because the path may begin with any prefix. */
const forges: readonly (readonly [path: RegExp, forge: Forge])[] = [
  // GitLab: https://docs.gitlab.com/api/rest/#pagination and https://docs.gitlab.com/api/releases
  [
    /\/api\/v4\/projects\/[^/]+\/releases\/?$/,
    { pageSizeParameter: 'per_page', maxPageSize: 100, latestPath: 'permalink/latest' },
  ],
  // Gitea and Forgejo reduce a larger page size to their setting MAX_RESPONSE_ITEMS, which is 50 by default.
  [
    /\/api\/v1\/repos\/[^/]+\/[^/]+\/releases\/?$/,
    { pageSizeParameter: 'limit', maxPageSize: 50, latestPath: 'latest' },
  ],
  // GitHub: https://docs.github.com/en/rest/releases/releases, and GitHub Enterprise below /api/v3.
  [
    /\/repos\/[^/]+\/[^/]+\/releases\/?$/,
    { pageSizeParameter: 'per_page', maxPageSize: 100, latestPath: 'latest' },
  ],
];

const forgeOf = ({ pathname }: URL): Forge | null =>
  forges.find(([path]) => path.test(pathname))?.[1] ?? null;

/** Returns the page size to try first; null for a list without a page size, such as a file. */
export function findPageSize(list: URL): number | null {
  const forge = forgeOf(list);
  if (!forge) return null;
  const named = list.searchParams.get(forge.pageSizeParameter) ?? '';
  // A page size in the configured address takes precedence.
  return /^[1-9]\d{0,3}$/.test(named) ? Number(named) : forge.maxPageSize;
}

export function createFirstPageUrl(list: URL, size: number | null): URL {
  const forge = forgeOf(list);
  const page = new URL(list);
  if (forge && size !== null) page.searchParams.set(forge.pageSizeParameter, String(size));
  return page;
}

/** Returns the address of the newest release that is not a pre-release; null if the list is not from a forge. */
export function findLatestReleaseUrl(list: URL): URL | null {
  const forge = forgeOf(list);
  if (!forge) return null;
  const latest = new URL(list);
  // The query string is preserved, because it may contain a token.
  latest.pathname = `${latest.pathname.replace(/\/$/, '')}/${forge.latestPath}`;
  return latest;
}

/**
 * Returns the next page's address from the response headers; null for the last page. Links to another origin are
 * ignored, because they do not belong to this feed.
 */
export function findNextPageUrl(
  headers: Headers,
  { asked, answered }: { asked: URL; answered: URL },
): URL | null {
  const next = linkToNext(headers.get('link'), answered);
  if (next?.origin === answered.origin) return next;
  // Use only the page number: Gitea and GitLab build the link from a configured address, which may differ from the
  // requested address.
  const number = next ? next.searchParams.get('page') : headers.get('x-next-page');
  if (!forgeOf(asked) || !/^[1-9]\d{0,8}$/.test(number ?? '')) return null;
  const page = new URL(asked);
  page.searchParams.set('page', number ?? '');
  return page;
}

/** Returns the `rel="next"` target of a Link header (RFC 8288). */
function linkToNext(link: string | null, page: URL): URL | null {
  for (const [, target = '', parameters = ''] of (link ?? '').matchAll(/<([^<>]*)>([^<]*)/g)) {
    const [, quoted, bare = ''] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? [];
    if ((quoted ?? bare).toLowerCase().split(/\s+/).includes('next')) return URL.parse(target, page.href);
  }
  return null;
}
