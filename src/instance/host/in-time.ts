/** Settles with the work, or rejects with what `late` makes at the deadline, whichever is first. */
export async function inTime<T>(work: Promise<T>, deadlineMs: number, late: () => Error): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), deadlineMs);
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
