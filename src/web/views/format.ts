import { known } from '../../wire/codes.ts';
import { messageSentence } from '../../wire/messages.ts';
import { ageText, dateFormat, daysBetween, durationText, nearDay, secondsText } from '../../wire/times.ts';
import { texts } from '../texts.ts';

/** `3 s`, `1 min 4 s`, `3 days`. */
export const duration = (milliseconds: number): string => durationText(milliseconds, texts().units);

/** An age in its largest unit only. */
export const age = (milliseconds: number): string => ageText(milliseconds, texts().units);

/** The duration of a number of seconds. */
export const durationOfSeconds = (count: number): string => secondsText(count, texts().units);

/** `10:42`, by default in the reader's time zone. */
export const timeOfDay = (time: string | null, timeZone?: string): string =>
  formatted(time, { hour: '2-digit', minute: '2-digit' }, timeZone);

/** `10:42:15`, with the day if it is not today. */
export function moment(time: string, now: number | null): string {
  const isToday = now !== null && Math.abs(now - Date.parse(time)) < 12 * 3_600_000;
  const day = isToday ? {} : ({ day: 'numeric', month: 'short' } as const);
  return formatted(time, { ...day, hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** `today 10:42` or `12 Oct`, by the server's time. */
export function dateText(time: string | null, now: number | null): string {
  const day = (at: number) =>
    formatted(new Date(at).toISOString(), { year: 'numeric', month: 'numeric', day: 'numeric' });
  const at = Date.parse(time ?? '');
  if (!Number.isFinite(at)) return '–';
  if (now !== null && day(at) === day(now)) return texts().todayAt(timeOfDay(time));
  const isOld = now !== null && Math.abs(now - at) > 300 * 86_400_000;
  return formatted(time, { day: 'numeric', month: 'short', ...(isOld ? { year: 'numeric' } : {}) });
}

/** `14 March`; empty if it is today by the server's time. */
export const dayText = (time: string | null, now: number | null, timeZone?: string): string =>
  daysFrom(now, time, timeZone) === 0 ? '' : formatted(time, { day: 'numeric', month: 'long' }, timeZone);

/** A future day in words: `tonight`, `tomorrow`, `on Thursday`, `on 14 March`. */
export function dayToCome(time: string, now: number | null, timeZone?: string): string {
  const t = texts();
  const near = now === null ? null : nearDay(Date.parse(time), now, timeZone);
  if (near !== null) return t[near];
  const isThisWeek = daysFrom(now, time, timeZone) < 7;
  return t.onDay(isThisWeek ? formatted(time, { weekday: 'long' }, timeZone) : dayText(time, now, timeZone));
}

const daysFrom = (now: number | null, time: string | null, timeZone?: string): number =>
  now === null || time === null ? Number.NaN : daysBetween(now, Date.parse(time), timeZone);

/** `Mon` and so on, by the ISO 8601 order of weekdays. */
export const weekday = (index: number): string =>
  dateFormat(texts().locale, { weekday: 'short' }, 'UTC').format(Date.UTC(2024, 0, 1 + index));

function formatted(time: string | null, form: Intl.DateTimeFormatOptions, timeZone?: string): string {
  const at = Date.parse(time ?? '');
  return Number.isFinite(at) ? dateFormat(texts().locale, form, timeZone).format(at) : '–';
}

/** A message of the server as a sentence. */
export const sentence = (message: string): string => messageSentence(message, texts().product);

/** The versions of a run, as far as known: a manually started run may not report them. */
export const fromTo = (from: string | null, to: string | null): string => {
  if (to === null) return texts().unknownVersion;
  return from === null ? texts().updateTo(to) : `${from} → ${to}`;
};

/** Joins facts into one line. */
export const joined = (...facts: (string | null | undefined | false)[]): string =>
  facts.filter(Boolean).join(' · ');

/** The name of a channel, or the code of an unknown channel. */
export const channelName = (channel: string): string =>
  known<{ name: string }>(texts().channels, channel)?.name ?? channel;

export const sentences = (...list: (string | null | false)[]): string => list.filter(Boolean).join(' ');
