/**
 * Whether a request that changes something may be one of the instance's own pages, or of a program (docs/contract.md 8.7).
 * What a browser adds by itself, a cookie or a login, another site could abuse; a request with neither it cannot.
 */
export function isSameOrigin({ headers, url }: Pick<Request, 'headers' | 'url'>): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  // Browsers leave Sec-Fetch-Site out on plain http, where many instances live, but never the Origin of a POST or PUT.
  const named = headers.get('origin');
  if (named === null) return !headers.has('cookie') && !isBrowsersLogin(headers.get('authorization'));
  const origin = URL.parse(named);
  if (origin === null || origin.origin !== named) return false;
  return origin.host === hostAsked({ headers, url }, origin);
}

/** Whether a browser sends a request for another site, such as for a link or an image, which have no Origin. */
export const isOtherSite = ({ headers }: Pick<Request, 'headers'>): boolean =>
  /^(?:cross|same)-site$/.test(headers.get('sec-fetch-site') ?? '');

/**
 * The host that was asked for, as a page of that origin would write it, without the default port of the origin's scheme.
 * The server's own scheme is not compared: behind a proxy that ends TLS, the server sees http.
 */
function hostAsked(
  { headers, url }: Pick<Request, 'headers' | 'url'>,
  { protocol }: URL,
): string | undefined {
  const host = headers.get('host');
  return URL.parse(host === null ? url : `${protocol}//${host}`)?.host;
}

/**
 * Why a request is refused: most are of the instance's own pages, behind a proxy that hands on another address than the
 * browser sees.
 */
export function whyOtherOrigin(request: Pick<Request, 'headers' | 'url'>): string {
  const { headers } = request;
  const rule = 'Requests from a browser must come from the same origin.';
  const page = headers.has('sec-fetch-site') ? null : URL.parse(headers.get('origin') ?? '');
  const asked = page && hostAsked(request, page);
  if (!page?.host || !asked || page.host === asked) return rule;
  return `${rule} The page is at ${page.host}, but the server received a request for ${asked}. Configure the proxy to forward the original Host header (nginx: proxy_set_header Host $http_host).`;
}

/** A login that a browser remembers for a site and sends along, whoever made the request. */
const isBrowsersLogin = (authorization: string | null): boolean =>
  /^\s*(?:basic|digest|negotiate|ntlm)\b/i.test(authorization ?? '');
