/** Whether durations are logged: `SVC_UPDATER_TRACE=1`. */
const isOn = process.env.SVC_UPDATER_TRACE === '1';

/**
 * Says what has just ended, a child process or a request to the engine, and when it began: to standard error, beside the
 * log, in milliseconds since the start of this process.
 * @param beganAt by `performance.now()`
 */
export function logTiming(what: string, beganAt: number, how: string): void {
  if (!isOn) return;
  const [from, to] = [beganAt, performance.now()].map((ms) => ms.toFixed(0).padStart(6));
  process.stderr.write(`trace ${from} – ${to} ms  ${what} (${how})\n`);
}
