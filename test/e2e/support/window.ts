import type { AutomaticChoice } from '../../../src/instance/contract/automatic.ts';

const minute = 60_000;

/** The first minute that begins after so many milliseconds from now, in milliseconds since 1970. */
export const minuteAfter = (milliseconds: number): number =>
  Math.ceil((Date.now() + milliseconds) / minute) * minute;

/** A window from two o'clock on, by the clock of the time zone in which it is two then. */
export function windowFrom(begin: number, minutes: number): AutomaticChoice {
  const utc = (begin / minute) % day;
  // All from -12:00 to +11:59 are time zones.
  const ahead = ((two - utc + 1.5 * day) % day) - 0.5 * day;
  return {
    from: clock(two),
    to: clock(two + minutes),
    timeZone: `${ahead < 0 ? '-' : '+'}${clock(Math.abs(ahead))}`,
  };
}

const day = 1440;
const two = 120;

function clock(minutes: number): string {
  const digits = (count: number) => String(count).padStart(2, '0');
  return `${digits(Math.floor(minutes / 60))}:${digits(minutes % 60)}`;
}
