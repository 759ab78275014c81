import { isSuccessfulOutcome, launchStates, type RunState } from '../codes.ts';
import type { Run, RunStep } from '../status.ts';

/** Row for one phase, which may consist of several states. */
interface PhaseRow {
  /** Text id for the phase while it is in progress, such as `replacing`. */
  doing: string;
  /** Text id for the completed phase, such as `replaced`. */
  done: string;
  states: readonly RunState[];
  /** States whose last message remains visible after the phase. */
  messageStates: readonly RunState[];
}

/** All phases in order. The phase `saving` is shown only in a run that has reached it. */
export const phaseRows: readonly PhaseRow[] = [
  {
    doing: 'preparing',
    done: 'prepared',
    states: ['waiting', 'preparing', 'launching'],
    messageStates: ['preparing'],
  },
  { doing: 'checking', done: 'checked', states: ['inspect', 'plan'], messageStates: [] },
  { doing: 'pulling', done: 'pulled', states: ['pull'], messageStates: ['pull'] },
  { doing: 'saving', done: 'saved', states: ['save'], messageStates: [] },
  { doing: 'replacing', done: 'replaced', states: ['write', 'recreate'], messageStates: [] },
  { doing: 'verifying', done: 'verified', states: ['verify'], messageStates: [] },
];

/** State of a phase in a particular run. */
export interface RunPhaseRow {
  mark: 'done' | 'now' | 'failed' | 'ahead';
  /** Text id for the phase, such as `pulled` or `waiting`. The text is in `englishTexts.phases`. */
  word: string;
  /**
   * The server's message without its leading verb, because the row already shows the verb. Empty if no message is
   * shown.
   */
  message: string;
  percent: number | null;
  /** Elapsed milliseconds of the phase; null if it has not started. */
  took: number | null;
}

/** Checks whether the run has begun to save a restore point. */
export const hasSavePhase = ({ state, steps }: Pick<Run, 'state' | 'steps'>): boolean =>
  state === 'save' || steps.some((step) => step.state === 'save');

/**
 * Whether containers may have been stopped. A run that saves a restore point stops them in `save`, other runs stop them
 * in `recreate`.
 */
export const canProductBeUnavailable = ({ state, steps }: Pick<Run, 'state' | 'steps'>): boolean =>
  ['save', 'recreate', 'verify'].includes(state) || (state === 'write' && hasSavePhase({ state, steps }));

/** An update can be cancelled before `recreate`. A rollback can be cancelled before its updater is launched. */
export const isTooLateToCancel = ({ kind, state }: Pick<Run, 'kind' | 'state'>): boolean =>
  state === 'recreate' ||
  state === 'verify' ||
  (kind === 'rollback' && !launchStates.some((known) => known === state));

/**
 * Omits phases that a finished run did not reach, and states that only newer servers have.
 * @param now - time on the server's clock, in milliseconds
 */
export function listRunPhaseRows(run: Run, now: number): RunPhaseRow[] {
  const isOver = run.outcome !== null;
  const isGood = isSuccessfulOutcome(run.outcome);
  const isIn = (row: PhaseRow, state: RunState) => row.states.includes(state);
  const last = run.steps.findLast(({ state }) => phaseRows.some((row) => isIn(row, state)));
  const current = phaseRows.findIndex((row) => isIn(row, isOver && last ? last.state : run.state));
  return phaseRows.flatMap((row, index): RunPhaseRow[] => {
    const steps = run.steps.filter(({ state }) => isIn(row, state));
    if (steps.length === 0 && index !== current) {
      return isOver || index < current || row.states.includes('save')
        ? []
        : [{ mark: 'ahead', word: row.doing, message: '', percent: null, took: null }];
    }
    const took = durationMsOf(steps, isOver ? endOf(run, now) : now);
    if (index === current && !(isOver && isGood)) {
      const word = (isOver ? steps.at(-1)?.state : run.state) === 'waiting' ? 'waiting' : row.doing;
      const message = shortenMessage(row, isOver ? steps.at(-1)?.message : run.message);
      return [{ mark: isOver ? 'failed' : 'now', word, message, percent: isOver ? null : run.percent, took }];
    }
    const shown = steps.findLast(({ state }) => row.messageStates.includes(state));
    return [
      { mark: 'done', word: row.done, message: shortenMessage(row, shown?.message), percent: null, took },
    ];
  });
}

/**
 * Removes the leading verb from a message such as `pulled app and worker`, because the row already shows the verb. Also
 * removes digests, which the log contains.
 */
function shortenMessage({ doing, done }: PhaseRow, message = ''): string {
  const short = message.replaceAll(/@sha256:[0-9a-f]{64}/g, '');
  const [verb = ''] = /^\w*/.exec(short) ?? [];
  return verb === doing || verb === done ? short.slice(verb.length).replace(/^[\s,:]+/, '') : short;
}

/**
 * Adds up the durations of all steps, because a run may enter `waiting` several times. Returns null if the duration is
 * unknown.
 */
export function durationMsOf(steps: readonly RunStep[], now: number): number | null {
  if (steps.length === 0) return null;
  const times = steps.map(
    ({ startedAt, endedAt }) => (endedAt === null ? now : Date.parse(endedAt)) - Date.parse(startedAt),
  );
  const sum = times.reduce((all, time) => all + Math.max(0, time), 0);
  return Number.isFinite(sum) ? sum : null;
}

const endOf = ({ endedAt }: Run, now: number): number => (endedAt === null ? now : Date.parse(endedAt));
