import * as z from 'zod/mini';
import type { Phase } from '../../../core/progress/event.ts';
import { type RunOutcome, runOutcomeSchema } from '../log/run-outcome.ts';

// Each state is stored before the run acts, so that a later run can resume (docs/run.md).

const stages = ['pulling', 'saving', 'writing', 'replacing', 'verifying'] as const;
const later = z.nullable(runOutcomeSchema);

const openStates = [
  z.object({ at: z.enum(stages) }),
  /**
   * The old containers are being restored; the data is kept. `ending` is null if the update is to start again after the
   * rollback.
   */
  z.object({ at: z.literal('rolling-back'), from: z.enum(stages), ending: later }),
  /**
   * The data is being restored from the restore point. Then the old containers, or the old tasks of a stack, are
   * restored.
   */
  z.object({ at: z.literal('restoring'), ending: later }),
] as const;
const openState = z.discriminatedUnion('at', openStates);

export const storedRunStateSchema = z.discriminatedUnion('at', [
  ...openStates,
  /** `left` is the state from which a later run must continue; null if all steps are finished. */
  z.object({ at: z.literal('ended'), ending: runOutcomeSchema, left: z.nullable(openState) }),
]);

export type StoredUpdateStage = (typeof stages)[number];
/** State of a run that is in progress, or that ended before its work was finished. */
export type UnfinishedState = z.infer<typeof openState>;
export type StoredRunState = z.infer<typeof storedRunStateSchema>;
type StateName = StoredRunState['at'];

/**
 * A stack's rollback goes to `restoring` when the last new task is gone, or to `replacing` if a new task has started
 * after all. A project's rollback goes from `restoring` to `replacing` if the restore point is unusable. For `ended`,
 * see `canTransition`.
 */
export const allowedTransitions: Readonly<Record<StateName, readonly StateName[]>> = {
  pulling: ['saving', 'writing', 'replacing', 'rolling-back', 'restoring', 'ended'],
  saving: ['writing', 'rolling-back', 'restoring', 'ended'],
  writing: ['replacing', 'rolling-back', 'restoring', 'ended'],
  replacing: ['verifying', 'rolling-back', 'restoring', 'ended'],
  verifying: ['rolling-back', 'restoring', 'ended'],
  'rolling-back': ['replacing', 'restoring', 'ended'],
  restoring: ['replacing', 'ended'],
  ended: [],
};

/** @throws Error if the transition is not allowed */
export function requireTransition(from: StoredRunState, to: StoredRunState): void {
  if (!canTransition(from, to)) throw new Error(`a run cannot go from ${from.at} to ${to.at}`);
}

/** Steps are only left to a later run if the outcome is `crashed` or `broken`. */
export const endedStateOf = (state: StoredRunState, outcome: RunOutcome): StoredRunState => {
  const isOver = outcome.outcome !== 'crashed' && outcome.outcome !== 'broken';
  return { at: 'ended', ending: outcome, left: isOver ? null : unfinishedStateOf(state) };
};

/**
 * Besides the listed transitions, a run may stay in its state. A later run may continue from the state in which an
 * earlier run ended without finishing.
 */
export function canTransition(from: StoredRunState, to: StoredRunState): boolean {
  const open = unfinishedStateOf(from);
  if (from.at === 'ended' && open !== null) return to.at === 'ended' || canTransition(open, to);
  return from.at === to.at || allowedTransitions[from.at].includes(to.at);
}

/** Null if no steps are unfinished. */
export const unfinishedStateOf = (state: StoredRunState): UnfinishedState | null =>
  state.at === 'ended' ? state.left : state;

/** The stage that the update has reached, even while it is being rolled back. */
export function stageOf(state: StoredRunState): StoredUpdateStage | 'restoring' | null {
  const open = unfinishedStateOf(state);
  return open?.at === 'rolling-back' ? open.from : (open?.at ?? null);
}

/** True if the run may have written files but has not replaced any container. */
export function isBeforeReplacing(state: StoredRunState): boolean {
  const stage = stageOf(state);
  return stage === 'saving' || stage === 'writing';
}

export const isReplacingOrVerifying = (state: StoredRunState): boolean => {
  const stage = stageOf(state);
  return stage === 'replacing' || stage === 'verifying';
};

/** Null if the run is not rolling back. `ending` is the outcome after the rollback. */
export function rollbackOf(state: StoredRunState): { ending: RunOutcome | null } | null {
  const open = unfinishedStateOf(state);
  return open?.at === 'rolling-back' || open?.at === 'restoring' ? { ending: open.ending } : null;
}

export const runOutcomeOf = (state: StoredRunState): RunOutcome | null =>
  state.at === 'ended' ? state.ending : null;

const phaseWords: Record<StoredUpdateStage | 'restoring', Phase | 'restore'> = {
  pulling: 'pull',
  saving: 'save',
  writing: 'write',
  replacing: 'recreate',
  verifying: 'verify',
  restoring: 'restore',
};

export function loggedPhaseOf(state: StoredRunState): string {
  const stage = stageOf(state);
  return stage === null ? 'done' : phaseWords[stage];
}
