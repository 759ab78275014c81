import { lookUpByCode } from '../wire/codes.ts';
import { formatMessageSentence } from '../wire/texts/messages.ts';
import {
  countMidnightsBetween,
  countMillisecondsBetween,
  createDateFormat,
  findNearDayKeyword,
  formatAge,
  formatDuration,
  formatDurationOfSeconds,
} from '../wire/texts/times.ts';
import type { CodeText, Texts } from './english.ts';

/** All texts, with functions that format durations and times. The command-line client replaces some date formats. */
export type TextsAndFormats = ReturnType<typeof createTextsAndFormats>;

/**
 * Returns `texts` with functions that format durations, and times relative to `now`.
 * @param now - the server's time in milliseconds; null before the first response
 */
export function createTextsAndFormats(texts: Texts, now: number | null) {
  const format = (time: string | null, form: Intl.DateTimeFormatOptions, timeZone?: string): string => {
    const at = Date.parse(time ?? '');
    return Number.isFinite(at) ? createDateFormat(texts.locale, form, timeZone).format(at) : '–';
  };
  const daysTo = (time: string | null, timeZone?: string): number => {
    const at = Date.parse(time ?? '');
    return now === null || Number.isNaN(at) ? Number.NaN : countMidnightsBetween(now, at, timeZone);
  };
  /**
   * Returns the milliseconds since `time`. The result is negative for a future time, and null if `time` or `now` is
   * unknown.
   */
  const passed = (time: string | null | undefined): number | null =>
    now === null ? null : countMillisecondsBetween(time, new Date(now).toISOString());
  /** Formats a time of day: `10:42`. Without `timeZone`, the user's time zone is used. */
  const clock = (time: string | null, timeZone?: string): string =>
    format(time, { hour: '2-digit', minute: '2-digit' }, timeZone);
  /** Formats a day: `14 March`. Empty if it is the server's current day. */
  const day = (time: string | null, timeZone?: string): string =>
    daysTo(time, timeZone) === 0 ? '' : format(time, { day: 'numeric', month: 'long' }, timeZone);
  return {
    ...texts,
    now,
    passed,
    clock,
    day,
    /** Formats a duration: `3 s`, `1 min 4 s`, `3 days`. */
    duration: (milliseconds: number): string => formatDuration(milliseconds, texts.units),
    /** Formats a duration that is given in seconds. */
    seconds: (count: number): string => formatDurationOfSeconds(count, texts.units),
    /** Formats the time since a moment, in the largest unit only. Empty if the moment is unknown. */
    age: (time: string | null | undefined): string => {
      const age = passed(time);
      return age === null ? '' : formatAge(age, texts.units);
    },
    /** Formats a time with seconds: `10:42:15`. Adds the day if the time is more than 12 hours away. */
    moment: (time: string): string => {
      const isToday = now !== null && Math.abs(now - Date.parse(time)) < 12 * 3_600_000;
      const date = isToday ? {} : ({ day: 'numeric', month: 'short' } as const);
      return format(time, { ...date, hour: '2-digit', minute: '2-digit', second: '2-digit' });
    },
    /** Formats a time: `today 10:42`, `12 Oct`. The server's clock determines which day is today. */
    date: (time: string): string => {
      if (daysTo(time) === 0) return texts.todayAt(clock(time));
      const isOld = now !== null && Math.abs(now - Date.parse(time)) > 300 * 86_400_000;
      return format(time, { day: 'numeric', month: 'short', ...(isOld ? { year: 'numeric' } : {}) });
    },
    /** Formats a future day: `tonight`, `tomorrow`, `on Thursday`, `on 14 March`. */
    futureDay: (time: string, timeZone?: string): string => {
      const near = now === null ? null : findNearDayKeyword(Date.parse(time), now, timeZone);
      if (near !== null) return texts[near];
      const isThisWeek = daysTo(time, timeZone) < 7;
      return texts.onDay(isThisWeek ? format(time, { weekday: 'long' }, timeZone) : day(time, timeZone));
    },
    /** Formats a server message as a sentence. */
    sentence: (message: string): string => formatMessageSentence(message, texts.product),
    /** Formats the known versions of a run. Versions of a manually started run may be unknown. */
    versions: (from: string | null, to: string | null): string => {
      if (to === null) return texts.unknownVersion;
      return from === null ? texts.updateTo(to) : `${from} → ${to}`;
    },
    /** Returns the name of a channel, or its code if the channel is unknown. */
    channelName: (channel: string): string =>
      lookUpByCode<{ name: string }>(texts.channels, channel)?.name ?? channel,
  };
}

/** Joins the facts that are not empty with ` · `. */
export const joinFacts = (...facts: (string | null | undefined | false)[]): string =>
  facts.filter(Boolean).join(' · ');

export const joinSentences = (...list: (string | null | undefined | false)[]): string =>
  list.filter(Boolean).join(' ');

/** Formats an elapsed time: `0:07`, `12:34`, `1:02:03`. */
export function formatElapsedTime(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const two = (count: number) => String(count).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  const end = two(seconds % 60);
  return minutes < 60 ? `${minutes}:${end}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${end}`;
}

/** Returns the text for a code, or the server's message if there is no text (docs/contract.md 10.7). */
export function formatCodeText(
  list: Readonly<Record<string, CodeText>>,
  code: string,
  message: string,
): string {
  const text = lookUpByCode(list, code) ?? message;
  return typeof text === 'function' ? text(message) : text;
}
