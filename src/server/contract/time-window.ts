import { type DayName, dayNames } from '../../wire/codes.ts';
import { readServerTimeZone } from './automatic-update-settings.ts';

/** Daily time window. If `from` equals `to`, the window lasts 24 hours. */
export interface TimeWindow {
  from: string;
  to: string;
}

export interface WeeklyTimeWindow extends TimeWindow {
  timeZone: string;
  /** Weekdays on which a window starts. An empty list means every day. */
  days: readonly DayName[];
}

/** One occurrence of a time window, in milliseconds since 1970. The end is exclusive. */
export interface TimeWindowOccurrence {
  begin: number;
  end: number;
}

const dayMs = 24 * 3_600_000;

/** The window's times are in the server's time zone. */
export function isInTimeWindow(window: TimeWindow, moment: number): boolean {
  const [next] = generateTimeWindows({ ...window, timeZone: readServerTimeZone(), days: [] }, moment);
  return next !== undefined && next.begin <= moment;
}

/** Generates an infinite sequence of the windows that end after `moment`, earliest first. */
export function* generateTimeWindows(
  { from, to, timeZone, days }: WeeklyTimeWindow,
  moment: number,
): Generator<TimeWindowOccurrence> {
  const length = (minutesOf(to) - minutesOf(from) + 1440) % 1440 || 1440;
  // The previous day is included, because its window may not have ended yet.
  const firstDay = Math.floor(wallAt(moment, timeZone) / dayMs) - 1;
  for (let day = firstDay; ; day++) {
    // The first day of 1970 (day 0) was a Thursday.
    const weekday = dayNames[(((day + 3) % 7) + 7) % 7] as DayName;
    if (days.length > 0 && !days.includes(weekday)) continue;
    const wall = day * dayMs + minutesOf(from) * 60_000;
    const begin = momentOf(wall, timeZone);
    const end = momentOf(wall + length * 60_000, timeZone);
    // If both times are skipped when clocks go forward, `begin` equals `end`. The window then gets its full length.
    const window = { begin, end: end > begin ? end : begin + length * 60_000 };
    if (window.end > moment) yield window;
  }
}

/** Converts a time of day to minutes since midnight. */
const minutesOf = (clock: string): number => {
  const [hours = 0, rest = 0] = clock.split(':').map(Number);
  return hours * 60 + rest;
};

/** Converts a wall clock time, encoded as if it were UTC, to milliseconds since 1970. */
function momentOf(wall: number, timeZone: string): number {
  let [before, after] = [wall - dayMs, wall + dayMs];
  const offset = offsetAt(before, timeZone);
  // If the time occurs twice, this is the first occurrence.
  for (const moment of [wall - offset, wall - offsetAt(after, timeZone)].sort((a, b) => a - b))
    if (wallAt(moment, timeZone) === wall) return moment;
  // The time is skipped: find the moment at which the clock is set forward.
  while (after - before > 1000) {
    const middle = Math.floor((before + after) / 2000) * 1000;
    if (offsetAt(middle, timeZone) === offset) before = middle;
    else after = middle;
  }
  return after;
}

const offsetAt = (moment: number, timeZone: string): number => wallAt(moment, timeZone) - moment;

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Returns the wall clock time at a moment, to the second, encoded as if it were UTC.
 * @throws RangeError for an unknown time zone
 */
function wallAt(moment: number, timeZone: string): number {
  const numeric = {
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  } as const;
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', year: 'numeric', ...numeric });
  formats.set(timeZone, format);
  const parts = new Map(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
}
