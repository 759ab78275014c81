/**
 * The server's time at one value of the page's counter `performance.now()` (docs/contract.md 10.6). The wall clock of a
 * browser is never used, because it may be days off.
 */
export interface ServerClock {
  /** Server time in milliseconds since 1970. */
  server: number;
  /** Value of `performance.now()` in milliseconds at this server time. */
  counter: number;
}

/** Returns the clock set to the time `now` of a response. If `now` is invalid, returns the known clock. */
export function advanceServerClock(
  now: string,
  counter: number,
  known: ServerClock | null,
): ServerClock | null {
  const server = Date.parse(now);
  return Number.isFinite(server) ? { server, counter } : known;
}

/** Returns the server's time in milliseconds at a value of the page's counter; null before the first response. */
export const computeServerTime = (clock: ServerClock | null, counter: number): number | null =>
  clock === null ? null : clock.server + (counter - clock.counter);
