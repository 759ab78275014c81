import { inUnits } from '../model/ages.ts';
import { known } from '../model/selectors.ts';
import { type Texts, texts } from '../texts.ts';

/** `3 s`, `1 min 4 s`, `3 days`. */
export const duration = (milliseconds: number, { units }: Texts = texts()): string =>
  inUnits(milliseconds)
    .map(([unit, count]) => units[unit](count))
    .join(' ');

/** An age in its largest unit only. */
export const age = (milliseconds: number): string => {
  const [first] = inUnits(milliseconds);
  return first ? texts().units[first[0]](first[1]) : '';
};

/** The duration of a number of seconds. */
export const durationOfSeconds = (count: number): string => duration(Math.round(count) * 1000);

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
  daysBetween(now, Date.parse(time ?? ''), timeZone) === 0
    ? ''
    : formatted(time, { day: 'numeric', month: 'long' }, timeZone);

/** A future day in words: `tonight`, `tomorrow`, `on Thursday`, `on 14 March`. */
export function dayToCome(time: string, now: number | null, timeZone?: string): string {
  const t = texts();
  const days = daysBetween(now, Date.parse(time), timeZone);
  const hour = hourOf(Date.parse(time), timeZone);
  const isEarly = hour < 6;
  if (days === 0) return isEarly || hour >= 18 ? t.tonight : t.today;
  // The early hours of the next day count as tonight, unless it is still early morning.
  if (days === 1) return isEarly && hourOf(now ?? 0, timeZone) >= 6 ? t.tonight : t.tomorrow;
  return t.onDay(days < 7 ? formatted(time, { weekday: 'long' }, timeZone) : dayText(time, now, timeZone));
}

/** Number of midnights between two times. */
function daysBetween(now: number | null, at: number, timeZone: string | undefined): number {
  const day = (moment: number) => {
    const parts = dateFormat({ year: 'numeric', month: 'numeric', day: 'numeric' }, timeZone, 'en-CA');
    return Date.parse(parts.format(moment));
  };
  return now === null || !Number.isFinite(at) ? Number.NaN : Math.round((day(at) - day(now)) / 86_400_000);
}

const hourOf = (at: number, timeZone: string | undefined): number =>
  Number(dateFormat({ hour: 'numeric', hourCycle: 'h23' }, timeZone, 'en').format(at));

/** `Mon` and so on, by the ISO 8601 order of weekdays. */
export const weekday = (index: number): string =>
  dateFormat({ weekday: 'short' }, 'UTC').format(Date.UTC(2024, 0, 1 + index));

function formatted(time: string | null, form: Intl.DateTimeFormatOptions, timeZone?: string): string {
  const at = Date.parse(time ?? '');
  return Number.isFinite(at) ? dateFormat(form, timeZone).format(at) : '–';
}

/** In a time zone, or in the reader's if none is given or the browser does not know it. */
function dateFormat(
  form: Intl.DateTimeFormatOptions,
  timeZone: string | undefined,
  locale = texts().locale,
): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat(locale, { ...form, timeZone });
  } catch {
    return new Intl.DateTimeFormat(locale, form);
  }
}

/** Formats a server message as a sentence: log messages start in lower case and have no full stop. */
export function sentence(said: string): string {
  const text = said.trim();
  // Do not capitalize a version, a path or the product name.
  const word = /^[a-z]+(?=[\s,;:']|$)/.exec(text)?.[0];
  const first =
    word !== undefined && word !== texts().product ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return first === '' || /[.!?…:]$/.test(first) ? first : `${first}.`;
}

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
