/**
 * Begins something that is needed later. Its failure is kept for whoever awaits it: until then another mistake, which a
 * person has to mend first, may end the run, and Node would end the process for a rejection that nobody has heard yet.
 */
export function startEarly<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {});
  return work;
}
