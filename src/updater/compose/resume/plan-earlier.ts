import type { Ending } from '../../run/log/ending.ts';
import type { Changeover } from '../../run/state/changeover.ts';
import { isHalfDone, type JournalData } from '../../run/state/journal.ts';
import { endingOfState, isReplacing, rollbackOf, stageOf } from '../../run/state/run-state.ts';

/**
 * Maximum number of starts of one container in one state of a run. The restart policy of the launcher allows as many.
 */
export const maxAttempts = 4;

/** Facts about a previous run with unfinished work. */
export interface PreviousRunFacts {
  /** Whether the run belongs to this container. */
  isOwn: boolean;
  /** Number of starts of this container for the run, including the current start. */
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
  /** Files or containers were changed after the run. */
  | { kind: 'leave'; because: string }
  | { kind: 'resume'; changeover: Changeover }
  | { kind: 'undo'; afterwards: AfterUndo }
  /** The new version has started and cannot be rolled back: its update is completed first. */
  | { kind: 'complete'; changeover: Changeover }
  /** The new version has started, and its update cannot be attempted again: the restore point is restored. */
  | { kind: 'roll-back' }
  /** The new version has started, its update cannot be attempted again, and there is no restore point. */
  | { kind: 'give-up' };

type AfterUndo =
  | { kind: 'start-over' }
  /** The outcome of the run was already known when its rollback was interrupted. */
  | { kind: 'repeat'; ending: Ending }
  /** The run was interrupted too often: the old version keeps running. */
  | { kind: 'give-up' };

/** Plans the step that deals with a run with unfinished work (docs/contract.md 5.4); changes nothing. */
export function planRecovery(data: JournalData, now: PreviousRunFacts): RecoveryStep {
  if (now.laterChange !== null) return { kind: 'leave', because: now.laterChange };
  // A run with the outcome `broken` needs a person, so it is not resumed automatically.
  if (!isHalfDone(data)) return { kind: 'start-over' };
  const { changeover, started, state } = data;
  const wayBack = rollbackOf(state);
  const exhausted = now.attempt > maxAttempts;
  // Another attempt would crash in the same step.
  const hasCrashed = wayBack === null && endingOfState(state)?.outcome === 'crashed';
  // Before `recreate`, services that were stopped to save data are started again, and the update begins again.
  const isNewThere = started || now.newHasStarted;
  // Before the new version starts, the old version may have been started, and may have written data that is not in the
  // restore point.
  const isStale = data.point != null && !isNewThere;
  if (changeover !== null && wayBack === null && isReplacing(state)) {
    const isStuck = exhausted || hasCrashed;
    if (now.sameRequest && !isStuck && !isStale) return { kind: 'resume', changeover };
    if (isNewThere) {
      if (!isStuck) return { kind: 'complete', changeover };
      return { kind: data.point?.state === 'saved' && now.mayRollBack ? 'roll-back' : 'give-up' };
    }
  }
  return { kind: 'undo', afterwards: afterUndo(data, now.isOwn, exhausted || (hasCrashed && now.isOwn)) };
}

function afterUndo({ state }: JournalData, isOwn: boolean, exhausted: boolean): AfterUndo {
  // A release that was rolled back is not tried again, no matter which run completes the rollback.
  const { ending } = rollbackOf(state) ?? { ending: null };
  if ((isOwn || stageOf(state) === 'restoring') && ending) return { kind: 'repeat', ending };
  return exhausted ? { kind: 'give-up' } : { kind: 'start-over' };
}
