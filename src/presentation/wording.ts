import { known } from '../wire/codes.ts';
import { messageSentence } from '../wire/messages.ts';
import {
  ageText,
  between,
  dateFormat,
  daysBetween,
  durationText,
  nearDay,
  secondsText,
} from '../wire/times.ts';
import type { CodeText, Texts } from './english.ts';

/** The texts for one reader, with durations and times. The client has its own forms of dates. */
export type Wording = ReturnType<typeof wordingOf>;

/** @param now the server's time in milliseconds; null before the first response */
export function wordingOf(texts: Texts, now: number | null) {
  const format = (time: string | null, form: Intl.DateTimeFormatOptions, timeZone?: string): string => {
    const at = Date.parse(time ?? '');
    return Number.isFinite(at) ? dateFormat(texts.locale, form, timeZone).format(at) : '–';
  };
  const daysTo = (time: string | null, timeZone?: string): number => {
    const at = Date.parse(time ?? '');
    return now === null || Number.isNaN(at) ? Number.NaN : daysBetween(now, at, timeZone);
  };
  /** Milliseconds since a time of the server, below 0 for a future time; null if one of them is unknown. */
  const passed = (time: string | null | undefined): number | null =>
    now === null ? null : between(time, new Date(now).toISOString());
  /** `10:42`, by default in the reader's time zone. */
  const clock = (time: string | null, timeZone?: string): string =>
    format(time, { hour: '2-digit', minute: '2-digit' }, timeZone);
  /** `14 March`; empty if it is today by the server's time. */
  const day = (time: string | null, timeZone?: string): string =>
    daysTo(time, timeZone) === 0 ? '' : format(time, { day: 'numeric', month: 'long' }, timeZone);
  return {
    ...texts,
    now,
    passed,
    clock,
    day,
    /** `3 s`, `1 min 4 s`, `3 days`. */
    duration: (milliseconds: number): string => durationText(milliseconds, texts.units),
    /** The duration of a number of seconds. */
    seconds: (count: number): string => secondsText(count, texts.units),
    /** The age of a time of the server in its largest unit; empty if it is unknown. */
    age: (time: string | null | undefined): string => {
      const age = passed(time);
      return age === null ? '' : ageText(age, texts.units);
    },
    /** `10:42:15`, with the day if it is not today. */
    moment: (time: string): string => {
      const isToday = now !== null && Math.abs(now - Date.parse(time)) < 12 * 3_600_000;
      const date = isToday ? {} : ({ day: 'numeric', month: 'short' } as const);
      return format(time, { ...date, hour: '2-digit', minute: '2-digit', second: '2-digit' });
    },
    /** `today 10:42` or `12 Oct`, by the server's time. */
    date: (time: string): string => {
      if (daysTo(time) === 0) return texts.todayAt(clock(time));
      const isOld = now !== null && Math.abs(now - Date.parse(time)) > 300 * 86_400_000;
      return format(time, { day: 'numeric', month: 'short', ...(isOld ? { year: 'numeric' } : {}) });
    },
    /** A future day in words: `tonight`, `tomorrow`, `on Thursday`, `on 14 March`. */
    futureDay: (time: string, timeZone?: string): string => {
      const near = now === null ? null : nearDay(Date.parse(time), now, timeZone);
      if (near !== null) return texts[near];
      const isThisWeek = daysTo(time, timeZone) < 7;
      return texts.onDay(isThisWeek ? format(time, { weekday: 'long' }, timeZone) : day(time, timeZone));
    },
    /** A message of the server as a sentence. */
    sentence: (message: string): string => messageSentence(message, texts.product),
    /** The versions of a run, as far as known: a manually started run may not report them. */
    versions: (from: string | null, to: string | null): string => {
      if (to === null) return texts.unknownVersion;
      return from === null ? texts.updateTo(to) : `${from} → ${to}`;
    },
    /** The name of a channel, or the code of an unknown channel. */
    channelName: (channel: string): string =>
      known<{ name: string }>(texts.channels, channel)?.name ?? channel,
  };
}

/** Joins facts into one line. */
export const joined = (...facts: (string | null | undefined | false)[]): string =>
  facts.filter(Boolean).join(' · ');

export const sentences = (...list: (string | null | undefined | false)[]): string =>
  list.filter(Boolean).join(' ');

/** `0:07`, `12:34`, `1:02:03`. */
export function clockText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (count: number) => String(count).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  const end = two(seconds % 60);
  return minutes < 60 ? `${minutes}:${end}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${end}`;
}

/** The text of a code, or the server's own sentence if the code has no text here (docs/contract.md 10.7). */
export function codeText(list: Readonly<Record<string, CodeText>>, code: string, message: string): string {
  const text = known(list, code) ?? message;
  return typeof text === 'function' ? text(message) : text;
}
