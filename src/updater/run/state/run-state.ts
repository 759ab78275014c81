import * as z from 'zod/mini';
import type { Phase } from '../../../core/progress/event.ts';
import { type Ending, endingSchema } from '../log/ending.ts';

// Where a run is. The state is stored before the run acts, so that a later run can go on from there (docs/design.md).

const stages = ['pulling', 'saving', 'writing', 'replacing', 'verifying'] as const;
const later = z.nullable(endingSchema);

const openStates = [
  z.object({ at: z.enum(stages) }),
  /** The old containers come back, on the data that is there. `ending`: null if an update starts over afterwards. */
  z.object({ at: z.literal('rolling-back'), from: z.enum(stages), ending: later }),
  /** The old data comes back from the restore point, then the old containers; of a stack, the old tasks. */
  z.object({ at: z.literal('restoring'), ending: later }),
] as const;
const openState = z.discriminatedUnion('at', openStates);

export const runStateSchema = z.discriminatedUnion('at', [
  ...openStates,
  /** `left`: what a later run has to finish; null if nothing is left to do. */
  z.object({ at: z.literal('ended'), ending: endingSchema, left: z.nullable(openState) }),
]);

/** A step on the way to the new version. */
export type Stage = (typeof stages)[number];
/** The state of a run that has not ended, or has ended with something left to do. */
export type OpenState = z.infer<typeof openState>;
export type JournalState = z.infer<typeof runStateSchema>;
type StateName = JournalState['at'];

/**
 * Every transition. From `ended`, a later run only goes on with what was left. A stack goes on from a way back: to `restoring`
 * when the last new task is gone, and to `replacing` when one has started after all. A project goes from `restoring` to
 * `replacing` if the restore point cannot be used.
 */
export const transitions: Readonly<Record<StateName, readonly StateName[]>> = {
  pulling: ['saving', 'writing', 'replacing', 'rolling-back', 'restoring', 'ended'],
  saving: ['writing', 'rolling-back', 'restoring', 'ended'],
  writing: ['replacing', 'rolling-back', 'restoring', 'ended'],
  replacing: ['verifying', 'rolling-back', 'restoring', 'ended'],
  verifying: ['rolling-back', 'restoring', 'ended'],
  'rolling-back': ['replacing', 'restoring', 'ended'],
  restoring: ['replacing', 'ended'],
  ended: [],
};

/** @throws Error if a run never goes from one state to the other */
export function checkTransition(from: JournalState, to: JournalState): void {
  if (!mayFollow(from, to)) throw new Error(`a run cannot go from ${from.at} to ${to.at}`);
}

/** The state of a run that ends. Only after `crashed` and `broken` a later run has something to finish. */
export const endedState = (state: JournalState, ending: Ending): JournalState => {
  const isOver = ending.outcome !== 'crashed' && ending.outcome !== 'broken';
  return { at: 'ended', ending, left: isOver ? null : openOf(state) };
};

/** Whether a run may go from one state to another. It may stay where it is, and go on with what was left. */
export function mayFollow(from: JournalState, to: JournalState): boolean {
  const open = openOf(from);
  if (from.at === 'ended' && open !== null) return to.at === 'ended' || mayFollow(open, to);
  return from.at === to.at || transitions[from.at].includes(to.at);
}

/** What is left to do; null if nothing is. */
export const openOf = (state: JournalState): OpenState | null => (state.at === 'ended' ? state.left : state);

/** How far the run has come on its way to the new version, also if it is on its way back. */
export function stageOf(state: JournalState): Stage | 'restoring' | null {
  const open = openOf(state);
  return open?.at === 'rolling-back' ? open.from : (open?.at ?? null);
}

/** The files may be written, and no container is replaced yet. */
export function isBeforeReplacing(state: JournalState): boolean {
  const stage = stageOf(state);
  return stage === 'saving' || stage === 'writing';
}

export const isReplacing = (state: JournalState): boolean => {
  const stage = stageOf(state);
  return stage === 'replacing' || stage === 'verifying';
};

/** The way back that the run is on, and how the run ends after it; null if it is not on its way back. */
export function wayBackOf(state: JournalState): { ending: Ending | null } | null {
  const open = openOf(state);
  return open?.at === 'rolling-back' || open?.at === 'restoring' ? { ending: open.ending } : null;
}

export const endingOfState = (state: JournalState): Ending | null =>
  state.at === 'ended' ? state.ending : null;

const phaseWords: Record<Stage | 'restoring', Phase | 'restore'> = {
  pulling: 'pull',
  saving: 'save',
  writing: 'write',
  replacing: 'recreate',
  verifying: 'verify',
  restoring: 'restore',
};

/** The phase that the log of the run was in. */
export function phaseWord(state: JournalState): string {
  const stage = stageOf(state);
  return stage === null ? 'done' : phaseWords[stage];
}
