const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A duration: `3 s`, `1 min 5 s`, `1 h 2 min`. */
export function durationText(milliseconds: number): string {
  const passed = Math.max(0, milliseconds);
  if (passed < minute) return `${Math.floor(passed / second)} s`;
  const [big, small, unit, part] =
    passed < hour
      ? [Math.floor(passed / minute), Math.floor((passed % minute) / second), 'min', 's']
      : [Math.floor(passed / hour), Math.floor((passed % hour) / minute), 'h', 'min'];
  return small === 0 ? `${big} ${unit}` : `${big} ${unit} ${small} ${part}`;
}

/** A number of seconds from the server, rounded as in the web part. */
export const secondsText = (count: number): string => durationText(Math.round(count) * second);

/** An age in its largest unit: `41 min`, `3 days`. */
export function ageText(milliseconds: number): string {
  const passed = Math.max(0, milliseconds);
  if (passed < minute) return `${Math.floor(passed / second)} s`;
  if (passed < hour) return `${Math.floor(passed / minute)} min`;
  if (passed < 2 * day) return `${Math.floor(passed / hour)} h`;
  return `${Math.floor(passed / day)} days`;
}

/** Milliseconds between two times of the server; null if one of them is invalid. */
export function between(from: string | null | undefined, to: string | null | undefined): number | null {
  const passed = Date.parse(to ?? '') - Date.parse(from ?? '');
  return Number.isFinite(passed) ? passed : null;
}

/** The age of a time of the server; empty if it is unknown. */
export function ageSince(moment: string | null | undefined, now: string): string {
  const passed = between(moment, now);
  return passed === null ? '' : ageText(passed);
}

/** A time of the server on the local clock: `11:40`. */
export function clockTime(moment: string, now: string): string {
  const ahead = between(now, moment);
  const date = new Date(ahead === null ? Date.parse(moment) : Date.now() + ahead);
  return Number.isNaN(date.getTime()) ? '' : date.toTimeString().slice(0, 5);
}

/** A due time in a time zone, `tonight after 02:00`. The zone is added if it is not the local one. */
export function dueAt(moment: string, now: string, timeZone: string): string {
  const ahead = between(now, moment);
  if (ahead === null || ahead < minute) return 'within a minute';
  const zone = isZone(timeZone) ? timeZone : undefined;
  const [[today], [date = '', time = '']] = [now, moment].map((at) =>
    new Date(at).toLocaleString('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' }).split(' '),
  ) as [string[], string[]];
  const near = time >= '18:00' || time < '06:00' ? 'tonight' : date === today ? 'today' : 'tomorrow';
  const isElsewhere = zone !== undefined && zone !== Intl.DateTimeFormat().resolvedOptions().timeZone;
  return `${ahead < day ? near : `on ${date}`} after ${time}${isElsewhere ? ` (${zone})` : ''}`;
}

/** A newer server may use time zones that this runtime does not have. */
function isZone(timeZone: string): boolean {
  try {
    return Boolean(Intl.DateTimeFormat('sv', { timeZone }));
  } catch {
    return false;
  }
}

/** `2026-11-21 10:42`, in the local time zone. */
export function dateTime(moment: string): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return '';
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
