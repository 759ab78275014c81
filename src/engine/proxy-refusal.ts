/** Advice for requests that a proxy blocks. */
export const proxyAdvice =
  'Allow all requests in the proxy that SECURITY.md lists for an updater that is started manually.';

/** Matches the message for a response without a body. */
const silent =
  /request returned (40[1357][^\n]*?) for API route and version \S+?\/v\d+\.\d+(\/[^?,\s]*)[^\n]*check if the server/;
/** Matches the message for an HTML page instead of the engine's JSON. */
const page = /response from daemon: <[^\n]*?\b(40[1357][^<\n]*)/;

/**
 * Converts the output of docker or compose about a request that a proxy blocks to one sentence; null for other output.
 */
export function explainProxyError(printed: string): string | null {
  const [, status, path] = silent.exec(printed) ?? page.exec(printed) ?? [];
  return status === undefined
    ? null
    : `a proxy in front of the engine blocks ${path ?? 'a request'} (${status.trim()})`;
}
