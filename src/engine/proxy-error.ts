export const proxyAdvice =
  'In the proxy, allow all requests that SECURITY.md lists for a manually started updater.';

/** Matches docker's message about an error response without a body. */
const silent =
  /request returned (40[1357][^\n]*?) for API route and version \S+?\/v\d+\.\d+(\/[^?,\s]*)[^\n]*check if the server/;
/** Matches docker's message about an HTML page in place of the engine's JSON. */
const page = /response from daemon: <[^\n]*?\b(40[1357][^<\n]*)/;

/** Explains docker or compose output about a request that a proxy blocks; null for other output. */
export function explainProxyError(printed: string): string | null {
  const [, status, path] = silent.exec(printed) ?? page.exec(printed) ?? [];
  return status === undefined
    ? null
    : `a proxy in front of the engine blocks ${path ?? 'a request'} (${status.trim()})`;
}
