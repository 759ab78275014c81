/**
 * Whether a request comes from the instance's own pages or a program (docs/contract.md 8.7). Only used for requests
 * that change something.
 */
export function isSameOriginRequest({ headers, url }: Pick<Request, 'headers' | 'url'>): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  // On plain http, which many instances use, browsers omit Sec-Fetch-Site, but they always send Origin with POST and
  // PUT.
  const named = headers.get('origin');
  // Another site can only abuse a cookie or login that the browser sends automatically. A request with neither is
  // harmless.
  if (named === null) return !headers.has('cookie') && !isBrowserLogin(headers.get('authorization'));
  const origin = URL.parse(named);
  if (origin === null || origin.origin !== named) return false;
  return origin.host === requestedHostOf({ headers, url }, origin);
}

/**
 * Whether another site caused the request, for example by a link or an image. Browsers send no Origin with such
 * requests, so only Sec-Fetch-Site is checked.
 */
export const isCrossSiteRequest = ({ headers }: Pick<Request, 'headers'>): boolean =>
  /^(?:cross|same)-site$/.test(headers.get('sec-fetch-site') ?? '');

/**
 * Returns the requested host without the default port of the origin's scheme. Does not use the server's own scheme,
 * which is http if a proxy terminates TLS.
 */
function requestedHostOf(
  { headers, url }: Pick<Request, 'headers' | 'url'>,
  { protocol }: URL,
): string | undefined {
  const host = headers.get('host');
  return URL.parse(host === null ? url : `${protocol}//${host}`)?.host;
}

/**
 * Explains why the request was rejected. The usual cause is a proxy that changes the Host header, so the message
 * explains how to configure the proxy.
 */
export function formatCrossOriginMessage(request: Pick<Request, 'headers' | 'url'>): string {
  const { headers } = request;
  const rule = 'Requests from a browser must come from the same origin.';
  const page = headers.has('sec-fetch-site') ? null : URL.parse(headers.get('origin') ?? '');
  const requested = page && requestedHostOf(request, page);
  if (!page?.host || !requested || page.host === requested) return rule;
  return `${rule} The page is at ${page.host}, but the server received a request for ${requested}. Configure the proxy to forward the original Host header (nginx: proxy_set_header Host $http_host).`;
}

/** Whether a browser sends this `Authorization` header automatically, even if another site caused the request. */
const isBrowserLogin = (authorization: string | null): boolean =>
  /^\s*(?:basic|digest|negotiate|ntlm)\b/i.test(authorization ?? '');
