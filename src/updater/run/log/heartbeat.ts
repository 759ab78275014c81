import { formatSeconds } from './format-values.ts';
import type { Log } from './run-log.ts';

/** Interval in ms. A waiting run must log a line every 10 s, and timers may be late. */
const heartbeatMs = 9_000;

export function logWaitIfQuiet(log: Log, sentence: string): void {
  if (log.quietMs() >= heartbeatMs) log.info(sentence);
}

/** While the work runs, logs the sentence and the time waited after each interval without a log line. */
export async function awaitWithHeartbeat<T>(log: Log, sentence: string, work: Promise<T>): Promise<T> {
  const beganAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const wait = () => {
    timer = setTimeout(beat, Math.max(heartbeatMs - log.quietMs(), 1));
  };
  const beat = () => {
    logWaitIfQuiet(log, `${sentence} (${formatSeconds(performance.now() - beganAt)})`);
    wait();
  };
  wait();
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
