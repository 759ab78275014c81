/**
 * Starts work whose result is awaited later. Without a handler, Node would exit if the promise were rejected before the
 * caller awaits it. The caller still gets the rejection.
 */
export function startEarly<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {});
  return work;
}
