type PageValue<T> = T | null | undefined | Promise<T | null | undefined>;

/** Time in ms that the functions of the page have. */
const deadlineMs = 5_000;

export let getAuthorization: (() => PageValue<string>) | null = null;
let getHeaders: (() => PageValue<Readonly<Record<string, string>>>) | null = null;
const listeners = new Set<() => void>();

/**
 * Sets the function that returns the `Authorization` header, such as `Bearer …`. It is called for every request. While
 * it returns null, no user is logged in, and the elements send no request.
 */
export function setAuthorization(get: typeof getAuthorization): void {
  getAuthorization = get;
  refresh();
}

/** Sets the function that returns further headers, such as a CSRF token. It is called for every request. */
export function setHeaders(get: typeof getHeaders): void {
  getHeaders = get;
  refresh();
}

/** Requests the status immediately. To be called after a login and after a logout. */
export function refresh(): void {
  for (const listener of listeners) listener();
}

export const addRefreshListener = (listener: () => void): unknown => listeners.add(listener);

/**
 * Resolves with the headers that the page has set; null if no user is logged in. Rejects if a function fails, is late or
 * returns an invalid header. Browsers ignore `Host`, `Origin`, `Cookie` and `Sec-…`.
 */
export async function createRequestHeaders(): Promise<Headers | null> {
  const authorize = getAuthorization;
  const given = Promise.all([getHeaders?.(), authorize?.()]);
  const late = new Promise<never>((_, reject) => setTimeout(reject, deadlineMs));
  const [more, authorization] = await Promise.race([given, late]);
  const headers = new Headers(more ?? {});
  if (authorization) headers.set('Authorization', authorization);
  return authorize && !authorization ? null : headers;
}
