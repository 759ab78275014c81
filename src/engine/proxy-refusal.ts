/** What a person does about a call that a proxy refuses. */
export const letThrough = "Let the proxy pass every call of SECURITY.md's list for an updater by hand.";

/** Of an answer without words. */
const silent =
  /request returned (40[1357][^\n]*?) for API route and version \S+?\/v\d+\.\d+(\/[^?,\s]*)[^\n]*check if the server/;
/** A page in place of the engine's JSON. */
const page = /response from daemon: <[^\n]*?\b(40[1357][^<\n]*)/;

/** What docker's client and compose print where no engine has refused a call, but a proxy; null for everything else. */
export function proxyRefusal(printed: string): string | null {
  const [, status, path] = silent.exec(printed) ?? page.exec(printed) ?? [];
  return status === undefined
    ? null
    : `what stands before the engine refuses ${path ?? 'a call'} (${status.trim()})`;
}
