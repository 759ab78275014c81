import { automaticCaller, isSuccessfulOutcome } from '../../wire/codes.ts';
import { findMissingSettingsReason } from '../../wire/derived/missing-settings.ts';
import type { Automatic, BlockedBy, NextRelease, Rehearsal, Run } from '../../wire/status.ts';
import type { ChannelFileEffects } from '../available-update/channel-file-effects.ts';
import type { AvailableUpdate, AvailableUpdateFacts } from '../available-update/choose-update.ts';
import type { AutomaticUpdateSettings } from '../contract/automatic-update-settings.ts';
import { generateTimeWindows, type TimeWindowOccurrence } from '../contract/time-window.ts';
import type { RehearsalFacts } from '../rehearsal/rehearser.ts';

export interface AutomaticUpdateFacts {
  settings: AutomaticUpdateSettings;
  offer: AvailableUpdate;
  known: Pick<AvailableUpdateFacts, 'releases' | 'notice'>;
  /** All runs including the current one, newest first. */
  past: readonly Run[];
  rehearsals: RehearsalFacts;
  /** Whether each update saves a restore point. */
  hasRestorePoint: boolean;
  /** Current time in milliseconds since 1970. */
  now: number;
}

type Decision = Pick<Automatic, 'nextAt' | 'blockedBy'>;

const hourMs = 3_600_000;

/** Decides when the next automatic update can start, and what blocks it (docs/contract.md 8.37). */
export function decideAutomaticUpdate(facts: AutomaticUpdateFacts): Decision {
  const { settings, past, now } = facts;
  if (!settings.enabled) return { nextAt: null, blockedBy: null };
  const { next } = facts.offer;
  const { notice: word, releases } = facts.known;
  const paused = pauseOf(past) ?? stalenessOf(word);
  if (paused) return { nextAt: null, blockedBy: paused };
  const minAgeHours = word.urgent ? 0 : settings.minAgeHours;
  const release = releases?.find(({ version }) => version === next?.version);
  const published = Date.parse(release?.publishedAt ?? '');
  const isAgeUnknown = minAgeHours > 0 && Number.isNaN(published);
  const blockedBy = next && findBlockedBy(next, isAgeUnknown, facts);
  const isWaitedFor = next !== null && blockedBy === null && minAgeHours > 0;
  const earliest = isWaitedFor ? Math.max(now, published + minAgeHours * hourMs) : now;
  for (const window of generateTimeWindows(settings, earliest))
    if (!isWindowUsed(window, past))
      return { nextAt: new Date(Math.max(window.begin, earliest)).toISOString(), blockedBy };
  throw new Error('no further time window was found');
}

/** Whether a run's time window is over or was moved, or automatic updates were turned off. */
export function isTimeWindowOver(
  { startedAt }: Pick<Run, 'startedAt'>,
  settings: AutomaticUpdateSettings,
  now: number,
): boolean {
  // An invalid start time in a stored run becomes 0, so that the window counts as over.
  const begun = Date.parse(startedAt) || 0;
  const { value } = generateTimeWindows(settings, begun).next() as { value: TimeWindowOccurrence };
  return !settings.enabled || value.begin > begun || value.end <= now;
}

/**
 * Returns why automatic updates are paused; null if they are not paused. After a broken or crashed run, the instance's
 * state is unknown until another run succeeds.
 */
function pauseOf(past: readonly Run[]): BlockedBy | null {
  const last = past.find(({ outcome }) => isSuccessfulOutcome(outcome) || isBad(outcome));
  if (last === undefined || isSuccessfulOutcome(last.outcome)) return null;
  const message = `the update to ${last.to ?? 'the newest release'} failed and needs attention`;
  return { code: 'paused', message, ...(last.endedAt === null ? {} : { since: last.endedAt }) };
}

/** Returns a reason to block automatic updates if the channel file has expired: the server may have missed a recall. */
const stalenessOf = ({ staleSince: since }: Pick<ChannelFileEffects, 'staleSince'>): BlockedBy | null =>
  since === null ? null : { code: 'stale', message: 'the information about releases is out of date', since };

const isBad = (outcome: Run['outcome']): boolean => outcome === 'broken' || outcome === 'crashed';

function findBlockedBy(
  { version, major, settings }: NextRelease,
  isAgeUnknown: boolean,
  facts: AutomaticUpdateFacts,
): BlockedBy | null {
  const { offer, known, past } = facts;
  const { includeMajors } = facts.settings;
  const { skipped } = offer;
  const { notice: word } = known;
  const hasFailed = past.some(
    ({ kind, to, outcome }) =>
      kind === 'update' && to === version && (outcome === 'failed' || isBad(outcome)),
  );
  if (hasFailed) return { code: 'failed', message: `an earlier update to ${version} failed` };
  if (past.some((_, at) => findRolledBackVersion(past.slice(at)) === version))
    return { code: 'rolled-back', message: `${version} was rolled back` };
  if (skipped) return { code: 'skipped', message: `${version} is skipped` };
  if (major && !includeMajors) return { code: 'major', message: `${version} is a major version` };
  const missing = findMissingSettingsReason(version, settings);
  if (missing) return missing;
  if (isAgeUnknown) return { code: 'age-unknown', message: `the publication date of ${version} is unknown` };
  if (version === word.held?.version)
    return { code: 'rolling-out', message: `${version} has not been rolled out to this instance yet` };
  return findRehearsalReason(version, facts);
}

/**
 * Returns a reason to block a release because of its rehearsal. A failed rehearsal always blocks the release, even if
 * rehearsals are off. An inconclusive one blocks it for a day if updates save no restore point, and a cancelled one
 * always for a day.
 */
function findRehearsalReason(
  version: string,
  { settings, rehearsals, hasRestorePoint, now }: AutomaticUpdateFacts,
): BlockedBy | null {
  const result = rehearsals.results.find((each) => each.version === version);
  if (result?.state === 'failed') return { code: 'rehearsal-failed', message: result.message };
  if (!settings.rehearse || result === undefined || isRepeatDue(result, now)) return null;
  const code = 'rehearsal-inconclusive';
  if (result.state === 'cancelled') return { code, message: `the rehearsal of ${version} was cancelled` };
  if (result.state !== 'inconclusive' || hasRestorePoint) return null;
  return { code, message: `the rehearsal of ${version} had no result: ${result.message}` };
}

/** Whether a rehearsal without success must be repeated before an automatic update. */
const isRepeatDue = ({ state, endedAt }: Rehearsal, now: number): boolean =>
  state !== 'succeeded' && endedAt !== null && now - Date.parse(endedAt) > 24 * hourMs;

/** Returns whether a release that is due and not blocked is installed now, or rehearsed first. */
export function chooseAutomaticStep(
  version: string,
  { settings, rehearsals, hasRestorePoint, now }: AutomaticUpdateFacts,
): 'update' | 'rehearse' | 'wait' {
  const { running, results } = rehearsals;
  if (running?.version === version) return 'wait';
  if (!settings.rehearse) return 'update';
  if (running !== null) return 'wait';
  const result = results.find((each) => each.version === version);
  if (result === undefined) return 'rehearse';
  const isEnough = hasRestorePoint && result.state === 'inconclusive';
  return isEnough || !isRepeatDue(result, now) ? 'update' : 'rehearse';
}

/** If the first run is a successful rollback, returns the version that it rolled back. Otherwise, returns null. */
function findRolledBackVersion([run, ...before]: readonly Run[]): string | null {
  if (run?.kind !== 'rollback' || run.outcome !== 'updated') return null;
  // A manual rollback does not store the version, so take the version of the last successful update before the
  // rollback.
  return (
    run.from ?? before.find(({ kind, outcome }) => kind === 'update' && outcome === 'updated')?.to ?? null
  );
}

const isWindowUsed = ({ begin, end }: TimeWindowOccurrence, past: readonly Run[]): boolean =>
  past.some(({ by, startedAt }) => {
    const at = Date.parse(startedAt);
    return by === automaticCaller && begin <= at && at < end;
  });
