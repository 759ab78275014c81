/**
 * Starts work whose result is awaited later. Node would end the process for a rejection before that, so it is handled here.
 * Whoever awaits the promise still gets the rejection.
 */
export function startEarly<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {});
  return work;
}
