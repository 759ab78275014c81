/**
 * Starts work whose result is awaited later. Handles the rejection, because Node would otherwise exit before the
 * promise is awaited. Code that awaits the promise still gets the rejection.
 */
export function startEarly<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {});
  return work;
}
