/**
 * A moment of the server's clock, and the same moment of the page's counter (docs/contract.md 10.6). The wall clock of a
 * browser may be days off, so it is never used.
 */
export interface ServerClock {
  /** Milliseconds since 1970. */
  server: number;
  /** Milliseconds of `performance.now()`. */
  counter: number;
}

/** The clock from an answer; the known clock if `now` is invalid. */
export function readClock(now: string, counter: number, known: ServerClock | null): ServerClock | null {
  const server = Date.parse(now);
  return Number.isFinite(server) ? { server, counter } : known;
}

/** The server's time in milliseconds at a moment of the page's counter; null before the first answer. */
export const serverTime = (clock: ServerClock | null, counter: number): number | null =>
  clock === null ? null : clock.server + (counter - clock.counter);
