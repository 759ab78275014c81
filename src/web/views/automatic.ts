import type { Automatic, Status } from '../../wire/status.ts';
import { isSoon } from '../../wire/times.ts';
import { codeText, texts } from '../texts.ts';
import { dayText, dayToCome, sentence, sentences, timeOfDay } from './format.ts';

/** When the offered version is installed automatically, or why not; empty if automatic updates are off. */
export function automaticUpdateText({ automatic, next }: Status, now: number | null): string {
  const t = texts();
  if (!automatic?.enabled) return '';
  const version = next?.version ?? '';
  const { nextAt } = automatic;
  if (automatic.blockedBy || nextAt === null) return notAutomaticText(automatic, now);
  if (startsSoon(nextAt, now)) return t.installedAutomaticallySoon(version);
  return t.installedAutomatically(version, dayToCome(nextAt, now), timeOfDay(nextAt));
}

/** The current setting in words, in the time zone of the setting. */
export function automaticText(automatic: Automatic, now: number | null): string {
  const t = texts();
  const { enabled, nextAt, timeZone } = automatic;
  if (!enabled) return t.automaticOff;
  const day = nextAt !== null && dayToCome(nextAt, now, timeZone);
  const next =
    day &&
    (startsSoon(nextAt, now)
      ? t.nextAutomaticSoon
      : t.nextAutomatic(day, timeOfDay(nextAt, timeZone), timeZone));
  return automatic.blockedBy ? notAutomaticText(automatic, now) : next || '';
}

const startsSoon = (at: string, now: number | null): boolean => now !== null && isSoon(Date.parse(at), now);

/** Empty if nothing prevents automatic updates. */
export function notAutomaticText({ blockedBy }: Automatic, now: number | null): string {
  const t = texts();
  if (!blockedBy) return '';
  const { code, message, since } = blockedBy;
  if (code !== 'paused') return sentence(t.notInstalledAutomatically(codeText(t.blockedBy, code, message)));
  if (!since) return sentences(sentence(t.notInstalledAutomatically(message)), t.automaticResumes);
  const day = dayText(since, now);
  return sentences(t.automaticPaused(day === '' ? t.today : t.onDay(day)), t.automaticResumes);
}
