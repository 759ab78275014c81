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

/**
 * Why it is not: most such requests are of the instance's own pages, behind a proxy that hands on another address than the
 * browser sees.
 */
export function whyForeign({ headers, url }: Pick<Request, 'headers' | 'url'>): string {
  const rule = 'A request that a page may have sent must come from the same origin.';
  const page = headers.has('sec-fetch-site') ? null : URL.parse(headers.get('origin') ?? '')?.host;
  const asked = URL.parse(`http://${headers.get('host') ?? URL.parse(url)?.host}`)?.host;
  if (!page || !asked || page === asked) return rule;
  return `${rule} The page is at ${page}, and the server was asked for ${asked}: a proxy between them has to hand on the address that the browser sees (nginx: proxy_set_header Host $http_host).`;
}

/** A login that a browser remembers for a site and sends along, whoever made the request. */
const isBrowsersLogin = (authorization: string | null): boolean =>
  /^\s*(?:basic|digest|negotiate|ntlm)\b/i.test(authorization ?? '');
