/**
 * Resolves early if the signal is aborted.
 * @param ref - whether the timer keeps the process running
 */
export function sleepFor(ms: number, signal?: AbortSignal, ref = true): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  if (!ref) timer.unref();
  const end = () => resolve();
  signal?.addEventListener('abort', end);
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  });
}

interface Wait<T> {
  /** Time in ms between two observations, or a function that waits for the next one. */
  pause: number | ((observed: T) => Promise<void>);
  deadlineMs?: number;
  /** Ends the wait when aborted. Which signal a run passes depends on its state (docs/contract.md 5.13, 5.14). */
  signal?: AbortSignal;
}

/**
 * Calls `observe`, then `evaluate` with the observed value, until `evaluate` returns a result. A deadline does not end
 * the wait; it only sets `isLate` for `evaluate`.
 * @param evaluate - returns undefined to continue
 * @throws the signal's reason
 */
export async function waitUntil<T, R>(
  observe: () => Promise<T>,
  evaluate: (observed: T, isLate: boolean) => R | undefined,
  { pause: between, deadlineMs = Number.POSITIVE_INFINITY, signal }: Wait<T>,
): Promise<R> {
  const beganAt = performance.now();
  for (;;) {
    const observed = await observe();
    const result = evaluate(observed, performance.now() - beganAt >= deadlineMs);
    if (result !== undefined) return result;
    await (typeof between === 'number' ? sleepFor(between, signal) : between(observed));
    signal?.throwIfAborted();
  }
}
