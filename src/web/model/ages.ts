/**
 * Time of the server's clock at a value of the page's `performance.now()` counter (docs/contract.md 10.6). The wall
 * clock of a browser may be days off, so it is never used.
 */
export interface ServerClock {
  /** Server time in milliseconds since 1970. */
  server: number;
  /** Value of `performance.now()` in milliseconds. */
  counter: number;
}

/** Reads the clock from a response; returns the known clock if `now` is invalid. */
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
