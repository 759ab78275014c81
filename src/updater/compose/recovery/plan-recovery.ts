import type { RunOutcome } from '../../run/log/run-outcome.ts';
import { isHalfDone, type JournalData } from '../../run/state/journal.ts';
import type { Changeover } from '../../run/state/rollout.ts';
import { endingOfState, isReplacing, rollbackOf, stageOf } from '../../run/state/run-state.ts';

/**
 * Maximum number of starts of one updater container in the same state of a run. The restart policy of the launcher
 * allows the same number.
 */
export const maxAttempts = 4;

/** Facts about a previous run with unfinished work. */
export interface PreviousRunFacts {
  /** Whether the previous run is a run of this updater container, which has been restarted. */
  isOwn: boolean;
  /** Number of starts of this container for the previous run, including the current start. */
  attempt: number;
  /** Whether this run has the same request as the previous run. */
  sameRequest: boolean;
  /**
   * Whether the engine reports that a container of the new version has started. The run may have been killed before it
   * recorded this in the journal.
   */
  newHasStarted: boolean;
  /** Change that another process made after the run, as the beginning of a sentence; null if there is none. */
  laterChange: string | null;
  /** Whether a rollback is allowed, because `--no-rollback` was not given. */
  mayRollBack: boolean;
}

/** Step that deals with an interrupted run. */
export type RecoveryStep =
  | { kind: 'start-over' }
  /** Files or containers were changed after the run, so nothing is undone. */
  | { kind: 'leave'; because: string }
  | { kind: 'resume'; changeover: Changeover }
  | { kind: 'undo'; afterwards: AfterUndo }
  /**
   * The new version has started and cannot be rolled back: its update is completed before the requested update begins.
   */
  | { kind: 'complete'; changeover: Changeover }
  /** The new version has started, and its update cannot be attempted again: the restore point is restored. */
  | { kind: 'roll-back' }
  /**
   * The new version has started, its update cannot be attempted again, and a rollback is not possible or not allowed.
   */
  | { kind: 'give-up' };

type AfterUndo =
  | { kind: 'start-over' }
  /** The outcome of the run was already known when its rollback was interrupted, and is reported again. */
  | { kind: 'repeat'; ending: RunOutcome }
  /** The run was interrupted too often to be attempted again: the old version keeps running. */
  | { kind: 'give-up' };

/** Plans the step that deals with a run with unfinished work (docs/contract.md 5.4); changes nothing. */
export function planRecovery(data: JournalData, now: PreviousRunFacts): RecoveryStep {
  if (now.laterChange !== null) return { kind: 'leave', because: now.laterChange };
  // A run with the outcome `broken` needs a person, so it is not resumed automatically.
  if (!isHalfDone(data)) return { kind: 'start-over' };
  const { changeover, started, state } = data;
  const wayBack = rollbackOf(state);
  const exhausted = now.attempt > maxAttempts;
  // If the updater has crashed, another attempt would crash in the same step.
  const hasCrashed = wayBack === null && endingOfState(state)?.outcome === 'crashed';
  const isNewThere = started || now.newHasStarted;
  // As long as the new version has not started, the old version may have been started after the interruption. The
  // restore point then lacks the data that the old version has written since.
  const isStale = data.point != null && !isNewThere;
  if (changeover !== null && wayBack === null && isReplacing(state)) {
    const isStuck = exhausted || hasCrashed;
    if (now.sameRequest && !isStuck && !isStale) return { kind: 'resume', changeover };
    if (isNewThere) {
      if (!isStuck) return { kind: 'complete', changeover };
      return { kind: data.point?.state === 'saved' && now.mayRollBack ? 'roll-back' : 'give-up' };
    }
  }
  // Before `recreate`, the undo starts the services that were stopped to save data, and the update starts over.
  return { kind: 'undo', afterwards: afterUndo(data, now.isOwn, exhausted || (hasCrashed && now.isOwn)) };
}

function afterUndo({ state }: JournalData, isOwn: boolean, exhausted: boolean): AfterUndo {
  // A release that was rolled back is not tried again, no matter which run completes the rollback.
  const { ending } = rollbackOf(state) ?? { ending: null };
  if ((isOwn || stageOf(state) === 'restoring') && ending) return { kind: 'repeat', ending };
  return exhausted ? { kind: 'give-up' } : { kind: 'start-over' };
}
