import type { Log } from './log.ts';
import { seconds } from './words.ts';

/** No longer than this is nothing said while something is waited for. */
export const heartbeatMs = 10_000;

/** Says what is waited for, and for how long already, until the work has ended. */
export async function withHeartbeat<T>(log: Log, sentence: string, work: Promise<T>): Promise<T> {
  const beganAt = performance.now();
  const beat = setInterval(
    () => log.info(`${sentence} (${seconds(performance.now() - beganAt)})`),
    heartbeatMs,
  );
  try {
    return await work;
  } finally {
    clearInterval(beat);
  }
}
