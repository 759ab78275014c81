import { inUnits } from '../model/ages.ts';
import { known } from '../model/selectors.ts';
import { type Texts, texts } from '../texts.ts';

/** `3 s`, `1 min 4 s`, `3 days`. */
export const duration = (milliseconds: number, { units }: Texts = texts()): string =>
  inUnits(milliseconds)
    .map(([unit, count]) => units[unit](count))
    .join(' ');

/** How long ago something was, in the largest unit alone. */
export const age = (milliseconds: number): string => {
  const [first] = inUnits(milliseconds);
  return first ? texts().units[first[0]](first[1]) : '';
};

/** The duration of a number of seconds, as the server counts. */
export const seconds = (count: number): string => duration(Math.round(count) * 1000);

/** `10:42`, in the reader's time zone. */
export const timeOfDay = (time: string | null): string =>
  formatted(time, { hour: '2-digit', minute: '2-digit' });

/** `10:42:15`, with its day where that is another one than the server's. */
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
  if (now !== null && day(at) === day(now)) return texts().today(timeOfDay(time));
  const isOld = now !== null && Math.abs(now - at) > 300 * 86_400_000;
  return formatted(time, { day: 'numeric', month: 'short', ...(isOld ? { year: 'numeric' } : {}) });
}

function formatted(time: string | null, form: Intl.DateTimeFormatOptions): string {
  const at = Date.parse(time ?? '');
  if (!Number.isFinite(at)) return '–';
  const { locale } = texts();
  return new Intl.DateTimeFormat(locale, form).format(at);
}

/** What a server says, as a sentence: updaters begin in lower case, and end without a full stop. */
export function sentence(said: string): string {
  const text = said.trim();
  // A first word that is a version, a path or the product's name stays as it is.
  const word = /^[a-z]+(?=[\s,;:']|$)/.exec(text)?.[0];
  const first =
    word !== undefined && word !== texts().product ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return first === '' || /[.!?…:]$/.test(first) ? first : `${first}.`;
}

/** The versions of a run, as far as they are known: one that was started by hand may not tell them. */
export const fromTo = (from: string | null, to: string | null): string => {
  if (to === null) return texts().anUpdate;
  return from === null ? texts().updateTo(to) : `${from} → ${to}`;
};

/** Facts in one line. */
export const joined = (...facts: (string | null | undefined | false)[]): string =>
  facts.filter(Boolean).join(' · ');

/** The name of a channel; its code where a newer server has another one. */
export const channelName = (channel: string): string =>
  known<{ name: string }>(texts().channels, channel)?.name ?? channel;
