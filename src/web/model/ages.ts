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

/** Milliseconds from a time of the server to `now`, never below 0; null if one of them is unknown. */
export function ageOf(time: string | null | undefined, now: number | null): number | null {
  const age = now === null ? Number.NaN : now - Date.parse(time ?? '');
  return Number.isFinite(age) ? Math.max(0, age) : null;
}

/** `0:07`, `12:34`, `1:02:03`. */
export function clockText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (count: number) => String(count).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  const end = two(seconds % 60);
  return minutes < 60 ? `${minutes}:${end}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${end}`;
}
