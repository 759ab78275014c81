import { setTimeout as sleep } from 'node:timers/promises';
import type { Timing } from '../contract/timing.ts';

/**
 * Retries until it succeeds, with growing pauses. `onFailure` returns whether to continue. The result is null after giving up
 * or if the signal is aborted between two attempts.
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  onFailure: (error: unknown) => boolean,
  { retry: first, longestRetry }: Pick<Timing, 'retry' | 'longestRetry'>,
  signal: AbortSignal,
): Promise<T | null> {
  for (let pause = first; ; pause = Math.min(pause * 2, longestRetry)) {
    try {
      return await attempt();
    } catch (error) {
      if (!onFailure(error)) return null;
    }
    await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return null;
  }
}
