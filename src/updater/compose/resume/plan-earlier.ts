import type { Ending } from '../../run/log/ending.ts';
import type { Changeover } from '../../run/state/changeover.ts';
import { isHalfDone, type JournalData } from '../../run/state/journal.ts';
import { endingOfState, isReplacing, stageOf, wayBackOf } from '../../run/state/run-state.ts';

/** Starts of one container in one state of a run: the restart policy of the launcher gives it as many. */
export const maxAttempts = 4;

/** What is found of a run that ended with something left to do. */
export interface EarlierFacts {
  /** The run is of this very container. */
  isOwn: boolean;
  /** Starts of this container for that run, this one counted. */
  attempt: number;
  /** This run is asked for what that one was asked for. */
  sameRequest: boolean;
  /** A container of the new version has started, by the engine's word; the journal may not have had the time to say so. */
  newHasStarted: boolean;
  /** A change that another process made after that run, as the beginning of a sentence; null if there is none. */
  laterChange: string | null;
  /** `--no-rollback` was not given. */
  mayRollBack: boolean;
}

/** What to do about a run that ended early. */
export type EarlierStep =
  | { kind: 'start-over' }
  /** Files or containers were changed after the run. */
  | { kind: 'leave'; because: string }
  | { kind: 'resume'; changeover: Changeover }
  | { kind: 'undo'; afterwards: AfterUndo }
  /** The new version has started and cannot be rolled back: its update is completed first. */
  | { kind: 'complete'; changeover: Changeover }
  /** The new version has started, and the update cannot be tried once more: the restore point is restored. */
  | { kind: 'roll-back' }
  /** The new version has started, the update cannot be tried once more, and there is no restore point. */
  | { kind: 'give-up' };

type AfterUndo =
  | { kind: 'start-over' }
  /** The run already had its ending when its rollback was interrupted. */
  | { kind: 'repeat'; ending: Ending }
  /** Interrupted too often: the old version keeps running. */
  | { kind: 'give-up' };

/** Decides what to do about a run that ended with something left to do (docs/contract.md 5.4); touches nothing. */
export function planEarlier(data: JournalData, now: EarlierFacts): EarlierStep {
  if (now.laterChange !== null) return { kind: 'leave', because: now.laterChange };
  // A run that ended as broken needs a person, so it is not resumed automatically.
  if (!isHalfDone(data)) return { kind: 'start-over' };
  const { changeover, started, state } = data;
  const wayBack = wayBackOf(state);
  const exhausted = now.attempt > maxAttempts;
  // A second try would crash in the same step.
  const hasCrashed = wayBack === null && endingOfState(state)?.outcome === 'crashed';
  // Before `recreate`, what was stopped to save data is started again, and the update begins again.
  const isNewThere = started || now.newHasStarted;
  // Until then the old version may have been started, and have written what is not in the restore point.
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
  // A release that was rolled back is not tried again, whoever finishes the rollback.
  const { ending } = wayBackOf(state) ?? { ending: null };
  if ((isOwn || stageOf(state) === 'restoring') && ending) return { kind: 'repeat', ending };
  return exhausted ? { kind: 'give-up' } : { kind: 'start-over' };
}
