/**
 * Pairs the server's time with a value of `performance.now()` (docs/contract.md 10.6). The browser's clock is not used,
 * because it may be days off.
 */
export interface ServerClock {
  /** Server time in milliseconds since 1970. */
  server: number;
  /** Value of `performance.now()` in milliseconds at that server time. */
  counter: number;
}

/** @param now - server time from a response; if it is invalid, `known` is returned */
export function syncServerClock(now: string, counter: number, known: ServerClock | null): ServerClock | null {
  const server = Date.parse(now);
  return Number.isFinite(server) ? { server, counter } : known;
}

/** Returns milliseconds since 1970; null before the first response. */
export const computeServerTime = (clock: ServerClock | null, counter: number): number | null =>
  clock === null ? null : clock.server + (counter - clock.counter);
