import type { RunOutcome } from '../../run/log/run-outcome.ts';
import { hasMixedVersions, type JournalData } from '../../run/state/journal.ts';
import type { Rollout } from '../../run/state/rollout.ts';
import { isReplacingOrVerifying, rollbackOf, runOutcomeOf, stageOf } from '../../run/state/run-state.ts';

/**
 * Number of times that one updater container may be started in the same state of a run. The launcher's restart policy
 * has the same number.
 */
export const maxUpdaterStarts = 4;

export interface PreviousRunFacts {
  /** Whether the previous run was started by this updater container, which has been restarted since. */
  isOwnRun: boolean;
  /** How often this container has been started for the previous run, including the current start. */
  attempt: number;
  hasSameRequest: boolean;
  /**
   * Whether a container of the new version has started, according to the engine. A killed run may not have recorded the
   * start.
   */
  hasNewVersionStarted: boolean;
  /**
   * Beginning of a sentence about a change that another process made after the run; null if there was no such change.
   */
  externalChange: string | null;
  /** False if `--no-rollback` was given. */
  canRollBack: boolean;
}

export type RecoveryAction =
  | { kind: 'start-over' }
  /** Files or containers were changed after the run, so nothing is undone. */
  | { kind: 'leave'; because: string }
  | { kind: 'resume' }
  | { kind: 'undo'; afterwards: ActionAfterUndo }
  /** The new version has started and cannot be rolled back, so its update is completed first. */
  | { kind: 'complete'; changeover: Rollout }
  /** The new version has started. Its update is not tried again; the restore point is restored. */
  | { kind: 'roll-back' }
  /** The new version has started. Its update is not tried again, and a rollback is impossible or forbidden. */
  | { kind: 'give-up' };

type ActionAfterUndo =
  | { kind: 'start-over' }
  /** The run's outcome was already known when its rollback was interrupted. The outcome is reported again. */
  | { kind: 'repeat'; ending: RunOutcome }
  /** The run was interrupted too often to be attempted again: the old version keeps running. */
  | { kind: 'give-up' };

/** Decides how to recover from an interrupted run (docs/contract.md 5.4). Changes nothing. */
export function planRecovery(data: JournalData, now: PreviousRunFacts): RecoveryAction {
  if (now.externalChange !== null) return { kind: 'leave', because: now.externalChange };
  // A run with the outcome `broken` requires manual action, so it is not resumed automatically.
  if (!hasMixedVersions(data)) return { kind: 'start-over' };
  const { changeover: rollout, started, state } = data;
  const wayBack = rollbackOf(state);
  const exhausted = now.attempt > maxUpdaterStarts;
  // If the updater has crashed, another attempt would crash in the same step.
  const hasCrashed = wayBack === null && runOutcomeOf(state)?.outcome === 'crashed';
  const isNewThere = started || now.hasNewVersionStarted;
  // If the new version has not started, the old version may have written data since the interruption. The restore point
  // lacks that data.
  const isStale = data.point != null && !isNewThere;
  if (rollout !== null && wayBack === null && isReplacingOrVerifying(state)) {
    const isStuck = exhausted || hasCrashed;
    if (now.hasSameRequest && !isStuck && !isStale) return { kind: 'resume' };
    if (isNewThere) {
      if (!isStuck) return { kind: 'complete', changeover: rollout };
      return { kind: data.point?.state === 'saved' && now.canRollBack ? 'roll-back' : 'give-up' };
    }
  }
  // If the `recreate` phase had not begun, undoing the run starts the services that were stopped to save data. The
  // update then starts over.
  return {
    kind: 'undo',
    afterwards: planAfterUndo(data, now.isOwnRun, exhausted || (hasCrashed && now.isOwnRun)),
  };
}

function planAfterUndo({ state }: JournalData, isOwn: boolean, exhausted: boolean): ActionAfterUndo {
  // A release that was rolled back is not tried again, no matter which run completes the rollback.
  const { ending: outcome } = rollbackOf(state) ?? { ending: null };
  if ((isOwn || stageOf(state) === 'restoring') && outcome) return { kind: 'repeat', ending: outcome };
  return exhausted ? { kind: 'give-up' } : { kind: 'start-over' };
}
