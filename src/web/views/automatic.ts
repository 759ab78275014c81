import type { Automatic, Status } from '../../wire/status.ts';
import { codeText, texts } from '../texts.ts';
import { dayText, dayToCome, sentence, sentences, timeOfDay } from './format.ts';

/** Milliseconds to a start by itself, below which its window is there. */
const soon = 60_000;

/** When what is offered starts by itself, or why it does not; empty where nobody has set that anything does. */
export function byItselfText({ automatic, next }: Status, now: number | null): string {
  const t = texts();
  if (!automatic?.enabled) return '';
  const version = next?.version ?? '';
  const { nextAt } = automatic;
  if (automatic.blockedBy || nextAt === null) return keptBackText(automatic, now);
  if (isSoon(nextAt, now)) return t.updatesItselfNow(version);
  return t.updatesItself(version, dayToCome(nextAt, now), timeOfDay(nextAt));
}

/** What is set, as the settings tell it: by the wall clock that they are in. */
export function automaticText(automatic: Automatic, now: number | null): string {
  const t = texts();
  const { enabled, nextAt, timeZone } = automatic;
  if (!enabled) return t.offByItself;
  const day = nextAt !== null && dayToCome(nextAt, now, timeZone);
  const next =
    day && (isSoon(nextAt, now) ? t.nextOneNow : t.nextOne(day, timeOfDay(nextAt, timeZone), timeZone));
  return automatic.blockedBy ? keptBackText(automatic, now) : next || '';
}

const isSoon = (at: string, now: number | null): boolean => now !== null && Date.parse(at) - now < soon;

/** Empty where nothing is kept back. */
export function keptBackText({ blockedBy }: Automatic, now: number | null): string {
  const t = texts();
  if (!blockedBy) return '';
  const { code, message, since } = blockedBy;
  if (code !== 'paused') return sentence(t.notByItself(codeText(t.blockedBy, code, message)));
  const day = since === undefined || since === null ? '' : dayText(since, now) || t.thisDay;
  return sentences(day === '' ? sentence(t.notByItself(message)) : t.pausedSince(day), t.pausedUntil);
}
