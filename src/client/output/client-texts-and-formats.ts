import { englishTexts } from '../../presentation/english.ts';
import { createTextsAndFormats, type TextsAndFormats } from '../../presentation/texts-and-formats.ts';
import { countMillisecondsBetween, createDateFormat } from '../../wire/texts/times.ts';
import { getProductNames } from '../command-line/product-names.ts';

/** @param now - current server time, from which the texts compute ages */
export function createClientTextsAndFormats(now: string): TextsAndFormats {
  const t = createTextsAndFormats(
    { ...englishTexts, product: getProductNames().name },
    Date.parse(now) || null,
  );
  const withAge = (time: string) => {
    const age = t.age(time);
    return age === '' ? formatDateTime(time) : `${formatDateTime(time)} (${age} ago)`;
  };
  const clock = (time: string | null, timeZone?: string) =>
    timeZone === undefined ? formatClockTime(time ?? '', now) : t.clock(time, timeZone);
  return { ...t, clock, date: formatDateTime, moment: withAge };
}

/** Converts a server time to the local clock and time zone: `11:40`. */
export function formatClockTime(moment: string, now: string): string {
  const ahead = countMillisecondsBetween(now, moment);
  const date = new Date(ahead === null ? Date.parse(moment) : Date.now() + ahead);
  return Number.isNaN(date.getTime()) ? '' : date.toTimeString().slice(0, 5);
}

/** Formats a time in the local time zone: `2026-11-21 10:42`. */
export function formatDateTime(moment: string): string {
  const at = Date.parse(moment);
  return Number.isNaN(at)
    ? ''
    : createDateFormat('sv', { dateStyle: 'short', timeStyle: 'short' }).format(at);
}
