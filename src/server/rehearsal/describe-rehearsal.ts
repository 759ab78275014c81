import type { CancelReason, Reason, Rehearsal, Run } from '../../wire/status.ts';
import { launchTakenCode } from '../run/launch/launch-updater.ts';

/**
 * Converts the run of a rehearsal to its entry in the status.
 * @param readySeconds - time until the new version was ready; null if it was not ready
 */
export function describeRehearsal(run: Run, readySeconds: number | null): Rehearsal {
  const { startedAt, endedAt, by, log } = run;
  const state = stateOf(run, readySeconds);
  const message = run.cause ?? run.message;
  const advice = state === 'cancelled' ? null : (adviceByCode[run.code ?? ''] ?? run.advice);
  return { version: run.to ?? '', state, startedAt, endedAt, by, message, advice, readySeconds, log };
}

/** A rehearsal whose updater was not started, or crashed, is inconclusive. */
function stateOf({ outcome, code }: Run, readySeconds: number | null): Rehearsal['state'] {
  if (outcome === null) return 'running';
  if (outcome === 'cancelled') return 'cancelled';
  if (outcome === 'unchanged' && readySeconds !== null) return 'succeeded';
  return code === 'rehearsal-failed' ? 'failed' : 'inconclusive';
}

/** Codes of rehearsals that were refused because something else was running. */
const overlapCodes: readonly (string | null)[] = [
  'rehearsal-running',
  'update-running',
  'journal-pending',
  launchTakenCode,
];

/** Whether a finished rehearsal has a result to store. If it was refused because of another run, it has none. */
export const isRehearsalResult = ({ code }: Run): boolean => !overlapCodes.includes(code);

/** Time in ms after which a result is outdated, because data, files or images may have changed. */
const resultLifetimeMs = 7 * 24 * 3_600_000;
/** Time in ms by which a result may seem to be in the future. The clock may have been set back since. */
const clockToleranceMs = 60_000;

/** A failure is never outdated: only a success of the same version disproves it. */
export function isOutdatedRehearsal({ state, endedAt }: Rehearsal): boolean {
  if (state === 'failed' || endedAt === null) return false;
  const age = Date.now() - Date.parse(endedAt);
  return age > resultLifetimeMs || age < -clockToleranceMs;
}

/** Maximum number of versions with a stored result. */
const maxResults = 20;

/**
 * Adds a result to the stored ones, newest first, at most one for each version. Returns the same list if another result
 * of the version remains.
 */
export function addRehearsalResult(stored: Rehearsal[] | null, result: Rehearsal): Rehearsal[] | null {
  const known = stored?.find(({ version }) => version === result.version);
  if (known && !isReplaced(known, result)) return stored;
  return [result, ...(stored ?? []).filter((other) => other !== known)].slice(0, maxResults);
}

/** Only a later success replaces a failure, and nothing without a result replaces a success. */
function isReplaced(known: Rehearsal, { state, startedAt }: Rehearsal): boolean {
  const isLater = startedAt > known.startedAt || Date.parse(known.startedAt) > Date.now() + clockToleranceMs;
  if (known.state === 'failed') return state === 'succeeded' && isLater;
  if (isOutdatedRehearsal(known) || known.state !== 'succeeded')
    return startedAt !== known.startedAt || isConclusive(state);
  return isConclusive(state) && startedAt > known.startedAt;
}

const isConclusive = (state: Rehearsal['state']): boolean => state === 'failed' || state === 'succeeded';

const crashAdvice = 'Nothing was changed. Check the log, then try again.';
/** Replaces the updater's advice, which names options of its command line. */
const adviceByCode: Readonly<Record<string, string>> = {
  'rehearsal-failed':
    'Find the error of the new version in the log, and report it to the publisher. If the version could not reach an external service, the isolation of the rehearsal is the cause.',
  'rehearsal-inconclusive': 'Fix the cause, then try again. Nothing is known about the new version.',
  'updater-ended': crashAdvice,
  'updater-gone': crashAdvice,
};

export const createRehearsalRunningReason = (version: string): Reason => ({
  code: 'rehearsal-running',
  message: `a rehearsal of ${version} is already running`,
});

export const noRehearsalReason: CancelReason = { code: 'not-running', message: 'no rehearsal is running' };
