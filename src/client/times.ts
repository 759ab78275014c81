const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** How long something took or takes: `3 s`, `1 min 5 s`, `1 h 2 min`. */
export function duration(milliseconds: number): string {
  const passed = Math.max(0, milliseconds);
  if (passed < minute) return `${Math.floor(passed / second)} s`;
  const [big, small, unit, part] =
    passed < hour
      ? [Math.floor(passed / minute), Math.floor((passed % minute) / second), 'min', 's']
      : [Math.floor(passed / hour), Math.floor((passed % hour) / minute), 'h', 'min'];
  return small === 0 ? `${big} ${unit}` : `${big} ${unit} ${small} ${part}`;
}

/** A number of seconds that a server has measured: rounded, as the web part does. */
export const seconds = (count: number): string => duration(Math.round(count) * second);

/** How long ago something was, as far as one wants to know: `41 min`, `3 days`. */
export function age(milliseconds: number): string {
  const passed = Math.max(0, milliseconds);
  if (passed < minute) return `${Math.floor(passed / second)} s`;
  if (passed < hour) return `${Math.floor(passed / minute)} min`;
  if (passed < 2 * day) return `${Math.floor(passed / hour)} h`;
  return `${Math.floor(passed / day)} days`;
}

/** Milliseconds from one moment that a server told to another; null where one of them is no time. */
export function between(from: string | null | undefined, to: string | null | undefined): number | null {
  const passed = Date.parse(to ?? '') - Date.parse(from ?? '');
  return Number.isFinite(passed) ? passed : null;
}

/** The age of a moment; empty where it is not known. */
export function ageOf(moment: string | null | undefined, now: string): string {
  const passed = between(moment, now);
  return passed === null ? '' : age(passed);
}

/** A moment of the server's clock as the reader's own clock shows it: `11:40`. */
export function clockTime(moment: string, now: string): string {
  const ahead = between(now, moment);
  const date = new Date(ahead === null ? Date.parse(moment) : Date.now() + ahead);
  return Number.isNaN(date.getTime()) ? '' : date.toTimeString().slice(0, 5);
}

/** `2026-11-21 10:42`, where the reader is. */
export function dateTime(moment: string): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return '';
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
