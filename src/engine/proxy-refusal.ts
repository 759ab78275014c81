/** Advice if a proxy blocks a request. */
export const letThrough =
  'Allow all requests in the proxy that SECURITY.md lists for an updater that is started manually.';

/** The message for an answer without a body. */
const silent =
  /request returned (40[1357][^\n]*?) for API route and version \S+?\/v\d+\.\d+(\/[^?,\s]*)[^\n]*check if the server/;
/** The message for an HTML page instead of the engine's JSON. */
const page = /response from daemon: <[^\n]*?\b(40[1357][^<\n]*)/;

/** Recognises what docker and compose print if a proxy blocks a request, and gives one sentence; null for everything else. */
export function proxyRefusal(printed: string): string | null {
  const [, status, path] = silent.exec(printed) ?? page.exec(printed) ?? [];
  return status === undefined
    ? null
    : `a proxy in front of the engine blocks ${path ?? 'a request'} (${status.trim()})`;
}
