import { ageText, between, dateFormat, isSoon, nearDay } from '../wire/times.ts';

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
  const [at, from] = [Date.parse(moment), Date.parse(now)];
  if (isSoon(at, from)) return 'within a minute';
  const format = dateFormat('sv', { dateStyle: 'short', timeStyle: 'short' }, timeZone);
  const [date, time] = format.format(at).split(' ');
  const { timeZone: zone } = format.resolvedOptions();
  const isElsewhere = zone !== Intl.DateTimeFormat().resolvedOptions().timeZone;
  return `${nearDay(at, from, timeZone) ?? `on ${date}`} after ${time}${isElsewhere ? ` (${zone})` : ''}`;
}

/** `2026-11-21 10:42`, in the local time zone. */
export function dateTime(moment: string): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return '';
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
