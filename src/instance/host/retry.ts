import { setTimeout as sleep } from 'node:timers/promises';
import type { Timing } from '../contract/timing.ts';

/**
 * Tries until it succeeds, with growing pauses; `onFailure` is told each time and says whether to go on. Gives null
 * where it was given up, or the signal was given between two tries.
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
