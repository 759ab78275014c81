const isTraced = process.env.SVC_UPDATER_TRACE === '1';

/**
 * Prints to standard error when a command or an engine request started and ended. Times are in milliseconds since this
 * process started.
 * @param beganAt - time from `performance.now()`
 */
export function logTiming(what: string, beganAt: number, how: string): void {
  if (!isTraced) return;
  const [from, to] = [beganAt, performance.now()].map((ms) => ms.toFixed(0).padStart(6));
  process.stderr.write(`trace ${from} – ${to} ms  ${what} (${how})\n`);
}
