import { sleepFor } from '../../core/cancellation/wait-until.ts';
import type { ServerTiming } from '../contract/timing.ts';

/**
 * Retries `attempt` with growing pauses until it succeeds. Returns null if `onFailure` returns false or the signal is
 * aborted.
 */
export async function retryWithBackoff<T>(
  attempt: () => Promise<T>,
  onFailure: (error: unknown) => boolean,
  { retry: first, longestRetry }: Pick<ServerTiming, 'retry' | 'longestRetry'>,
  signal: AbortSignal,
): Promise<T | null> {
  for (let pauseMs = first; ; pauseMs = Math.min(pauseMs * 2, longestRetry)) {
    try {
      return await attempt();
    } catch (error) {
      if (!onFailure(error)) return null;
    }
    await sleepFor(pauseMs, signal, false);
    if (signal.aborted) return null;
  }
}
