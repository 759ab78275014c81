/** Prevents a rejected promise from ending the process. The caller still gets the rejection. */
export function deferRejection<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {});
  return work;
}
