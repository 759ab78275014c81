import { english } from '../presentation/english.ts';
import { type Wording, wordingOf } from '../presentation/wording.ts';
import { dateFormat, millisecondsBetween } from '../wire/times.ts';
import { productNames } from './names.ts';

/** Returns the texts of the client. @param now the current time of the server */
export function clientWording(now: string): Wording {
  const t = wordingOf({ ...english, product: productNames().name }, Date.parse(now) || null);
  const withAge = (time: string) => {
    const age = t.age(time);
    return age === '' ? dateTime(time) : `${dateTime(time)} (${age} ago)`;
  };
  const clock = (time: string | null, timeZone?: string) =>
    timeZone === undefined ? clockTime(time ?? '', now) : t.clock(time, timeZone);
  return { ...t, clock, date: dateTime, moment: withAge };
}

/** Formats a server time, converted to the local clock and time zone: `11:40`. */
export function clockTime(moment: string, now: string): string {
  const ahead = millisecondsBetween(now, moment);
  const date = new Date(ahead === null ? Date.parse(moment) : Date.now() + ahead);
  return Number.isNaN(date.getTime()) ? '' : date.toTimeString().slice(0, 5);
}

/** Formats a time, converted to the local time zone: `2026-11-21 10:42`. */
export function dateTime(moment: string): string {
  const at = Date.parse(moment);
  return Number.isNaN(at) ? '' : dateFormat('sv', { dateStyle: 'short', timeStyle: 'short' }).format(at);
}
