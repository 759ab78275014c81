/**
 * Marks a promise as handled that the caller awaits only later. Otherwise, Node would exit if it were rejected before
 * then. The caller still gets the rejection.
 */
export function deferRejection<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {});
  return work;
}
