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
  // The scheme is not compared: behind a proxy that ends TLS, the server sees http. What is no port for one is for both.
  const host = headers.get('host');
  return origin.host === URL.parse(host === null ? url : `${origin.protocol}//${host}`)?.host;
}

/** A login that a browser remembers for a site and sends along, whoever made the request. */
const isBrowsersLogin = (authorization: string | null): boolean =>
  /^\s*(?:basic|digest|negotiate|ntlm)\b/i.test(authorization ?? '');
