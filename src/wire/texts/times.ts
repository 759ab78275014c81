const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

type Unit = 'second' | 'minute' | 'hour' | 'day';
interface Amount {
  unit: Unit;
  count: number;
}

type UnitTexts = Record<Unit, (count: number) => string>;

export const unitTexts: UnitTexts = {
  second: (count) => `${count} s`,
  minute: (count) => `${count} min`,
  hour: (count) => `${count} h`,
  day: (count) => (count === 1 ? '1 day' : `${count} days`),
};

/** Formats a duration: `3 s`, `1 min 5 s`, `12 min`, `1 h 2 min`, `3 days`. */
export function formatDuration(milliseconds: number, units = unitTexts): string {
  const [largest, smaller] = splitIntoUnits(milliseconds);
  // The smaller unit is included below ten minutes, and from one hour up to ten hours.
  const isExact = smaller.count === 0 || largest.count >= 10 || largest.unit === 'day';
  return [largest, ...(isExact ? [] : [smaller])].map(({ unit, count }) => units[unit](count)).join(' ');
}

/** Formats an age in its largest unit: `41 min`, `3 days`. */
export function formatAge(milliseconds: number, units = unitTexts): string {
  const [{ unit, count }] = splitIntoUnits(milliseconds);
  return units[unit](count);
}

/** Splits a duration into its largest unit and the next smaller unit. */
function splitIntoUnits(milliseconds: number): [largest: Amount, smaller: Amount] {
  const passed = Math.max(0, milliseconds);
  const amounts = (unit: Unit, size: number, smaller: Unit, part: number): [Amount, Amount] => [
    { unit, count: Math.floor(passed / size) },
    { unit: smaller, count: Math.floor((passed % size) / part) },
  ];
  if (passed >= 2 * day) return amounts('day', day, 'hour', hour);
  if (passed >= hour) return amounts('hour', hour, 'minute', minute);
  return passed >= minute
    ? amounts('minute', minute, 'second', second)
    : amounts('second', second, 'second', second);
}

export const formatDurationOfSeconds = (count: number, units = unitTexts): string =>
  formatDuration(Math.round(count) * second, units);

/** Returns null if either time is unknown. */
export function countMillisecondsBetween(
  from: string | null | undefined,
  to: string | null | undefined,
): number | null {
  const passed = Date.parse(to ?? '') - Date.parse(from ?? '');
  return Number.isFinite(passed) ? passed : null;
}

/** A time window that starts in less than a minute counts as reached. */
export const isLessThanMinuteAway = (at: number, now: number): boolean => at - now < minute;

/** Returns null unless the time is today or tomorrow. `tonight` lasts from 18:00 to 6:00. */
export function findNearDayKeyword(
  at: number,
  now: number,
  timeZone?: string,
): 'tonight' | 'today' | 'tomorrow' | null {
  const days = countMidnightsBetween(now, at, timeZone);
  const isEarly = hourOf(at, timeZone) < 6;
  if (days === 0) return isEarly || hourOf(at, timeZone) >= 18 ? 'tonight' : 'today';
  if (days !== 1) return null;
  return isEarly && hourOf(now, timeZone) >= 6 ? 'tonight' : 'tomorrow';
}

/** The result is negative if `at` is before `now`. */
export function countMidnightsBetween(now: number, at: number, timeZone?: string): number {
  const { format } = createDateFormat(
    'en-CA',
    { year: 'numeric', month: 'numeric', day: 'numeric' },
    timeZone,
  );
  return Math.round((Date.parse(format(at)) - Date.parse(format(now))) / day);
}

const hourOf = (at: number, timeZone?: string): number =>
  Number(createDateFormat('en', { hour: 'numeric', hourCycle: 'h23' }, timeZone).format(at));

/** Uses the local time zone if none is given or the runtime does not support it. */
export function createDateFormat(
  locale: string,
  form: Intl.DateTimeFormatOptions,
  timeZone?: string,
): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat(locale, { ...form, timeZone });
  } catch {
    return new Intl.DateTimeFormat(locale, form);
  }
}
