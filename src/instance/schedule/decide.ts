import { byItself, isGoodEnd } from '../../wire/codes.ts';
import type { BlockedBy, Run } from '../../wire/status.ts';
import type { AutomaticSettings } from '../contract/automatic.ts';
import type { Offered } from '../offer/offer.ts';
import { type Window, windowsAfter } from './window.ts';

export interface AutomaticFacts {
  settings: AutomaticSettings;
  /** What is offered; null where nothing is. */
  next: Offered | null;
  /** The newest first, one that is on among them. */
  past: readonly Run[];
  /** Milliseconds since 1970. */
  now: number;
}

export interface Decision {
  /** When the next update would start by itself, milliseconds since 1970; null where none does. */
  nextAt: number | null;
  /** Why what is offered does not. */
  blockedBy: BlockedBy | null;
}

const hourMs = 3_600_000;

/** When an update starts by itself (docs/contract.md 8.37). */
export function decide({ settings, next, past, now }: AutomaticFacts): Decision {
  if (!settings.enabled) return { nextAt: null, blockedBy: null };
  const paused = pauseOf(past);
  if (paused) return { nextAt: null, blockedBy: paused };
  const blockedBy = next && whyKeptBack(next, settings, past);
  const published = Date.parse(next?.publishedAt ?? '');
  const isWaitedFor = next !== null && blockedBy === null && settings.minAgeHours > 0;
  const earliest = isWaitedFor ? Math.max(now, published + settings.minAgeHours * hourMs) : now;
  for (const window of windowsAfter(settings, earliest))
    if (!isUsed(window, past)) return { nextAt: Math.max(window.begin, earliest), blockedBy };
  throw new Error('no further time window was found');
}

/** Whether a run that started by itself is in no window any more: it was to begin in that, or in another one. */
export function isOverdue(
  { startedAt }: Pick<Run, 'startedAt'>,
  settings: AutomaticSettings,
  now: number,
): boolean {
  const begun = Date.parse(startedAt);
  const { value } = windowsAfter(settings, begun).next() as { value: Window };
  return !settings.enabled || value.begin > begun || value.end <= now;
}

/** Nobody knows what an update has left that ended badly, until somebody has seen to it. */
function pauseOf(past: readonly Run[]): BlockedBy | null {
  const last = past.find(({ outcome }) => isGoodEnd(outcome) || isBad(outcome));
  if (last === undefined || isGoodEnd(last.outcome)) return null;
  const message = `the update to ${last.to ?? 'the newest release'} failed and needs attention`;
  return { code: 'paused', message, ...(last.endedAt === null ? {} : { since: last.endedAt }) };
}

const isBad = (outcome: Run['outcome']): boolean => outcome === 'broken' || outcome === 'crashed';

function whyKeptBack(
  { version, major, publishedAt, isSkipped }: Offered,
  { minAgeHours, includeMajors }: AutomaticSettings,
  past: readonly Run[],
): BlockedBy | null {
  const hasFailed = past.some(
    ({ kind, to, outcome }) =>
      kind === 'update' && to === version && (outcome === 'failed' || isBad(outcome)),
  );
  if (hasFailed) return { code: 'failed', message: `an earlier update to ${version} failed` };
  if (isSkipped) return { code: 'skipped', message: `${version} is skipped` };
  if (major && !includeMajors) return { code: 'major', message: `${version} is a major version` };
  if (minAgeHours > 0 && Number.isNaN(Date.parse(publishedAt ?? '')))
    return { code: 'age-unknown', message: `the publication date of ${version} is unknown` };
  return null;
}

const isUsed = ({ begin, end }: Window, past: readonly Run[]): boolean =>
  past.some(({ by, startedAt }) => {
    const at = Date.parse(startedAt);
    return by === byItself && begin <= at && at < end;
  });
