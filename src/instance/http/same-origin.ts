/**
 * Whether a request that changes something may be one of the instance's own pages (docs/contract.md 8.7). A request without a
 * cookie carries nothing that another site could abuse.
 */
export function isSameOrigin({ headers, url }: Pick<Request, 'headers' | 'url'>): boolean {
  if (!headers.has('cookie')) return true;
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  // Browsers leave Sec-Fetch-Site out on plain http, where many instances live, but never the Origin of a POST or PUT.
  const origin = parse(headers.get('origin'));
  if (origin === null || origin.origin !== headers.get('origin')) return false;
  // The scheme is not compared: behind a proxy that ends TLS, the server sees http. What is no port for one is for both.
  const host = headers.get('host');
  return origin.host === (host === null ? parse(url) : parse(`${origin.protocol}//${host}`))?.host;
}

const parse = (url: string | null): URL | null => (url === null ? null : URL.parse(url));
