import type { Status } from '../wire/status.ts';
import { isLessThanMinuteAway } from '../wire/texts/times.ts';
import { formatCodeText, joinSentences, type TextsAndFormats } from './texts-and-formats.ts';

/**
 * Describes the next automatic update, or why there will be no automatic update. Returns an empty text if automatic
 * updates are off.
 */
export function formatAutomaticUpdate({ automatic, next }: Status, t: TextsAndFormats): string {
  if (!automatic?.enabled) return '';
  const { nextAt, blockedBy } = automatic;
  if (blockedBy || nextAt === null) return formatBlockedReason(automatic, t);
  const version = next?.version ?? '';
  if (isDue(nextAt, t)) return t.installedAutomaticallySoon(version);
  return t.installedAutomatically(version, t.futureDay(nextAt), t.clock(nextAt));
}

/** Uses the configured time zone, not the user's. */
export function formatAutomaticUpdateSettings(
  automatic: NonNullable<Status['automatic']>,
  t: TextsAndFormats,
): string {
  const { enabled, nextAt, timeZone, blockedBy } = automatic;
  if (!enabled) return t.automaticOff;
  if (blockedBy || nextAt === null) return formatBlockedReason(automatic, t);
  if (isDue(nextAt, t)) return t.nextAutomaticSoon;
  return t.nextAutomatic(t.futureDay(nextAt, timeZone), t.clock(nextAt, timeZone), timeZone);
}

const isDue = (at: string, t: TextsAndFormats): boolean =>
  t.now !== null && isLessThanMinuteAway(Date.parse(at), t.now);

/** Describes why no update will be installed automatically; empty if there is no such reason. */
export function formatBlockedReason(
  { blockedBy }: NonNullable<Status['automatic']>,
  t: TextsAndFormats,
): string {
  if (!blockedBy) return '';
  const { code, message, since } = blockedBy;
  if (code !== 'paused')
    return t.sentence(t.notInstalledAutomatically(formatCodeText(t.blockedBy, code, message)));
  if (!since) return joinSentences(t.sentence(t.notInstalledAutomatically(message)), t.automaticResumes);
  const day = t.day(since);
  return joinSentences(t.automaticPaused(day === '' ? t.today : t.onDay(day)), t.automaticResumes);
}
