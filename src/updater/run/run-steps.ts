import { channel } from 'node:diagnostics_channel';
import { sleepFor } from '../../core/cancellation/wait-until.ts';
import type { Log } from './log/run-log.ts';
import type { RunOutcome } from './log/run-outcome.ts';
import type { EngineContext } from './run-context.ts';

/** Goal of a run: the new version, or a rollback to the old version. */
export type Goal = 'update' | 'rollback';

/** Result of planning if the goal is reached. */
interface Done {
  kind: 'done';
}

/** Result of planning if the goal cannot be reached. */
interface Blocked {
  kind: 'blocked';
  why: unknown;
}

export type NextStep<Step> = Step | Done | Blocked;

/** Inspects, plans and executes the steps of a run on a compose project or a stack (docs/design.md, "The loop"). */
export interface Driver<View, Step extends { kind: string }> {
  /** Inspects the part of the current state that is relevant to the goal. */
  look(goal: Goal): Promise<View>;
  /** Returns the next step, which depends only on the view and the goal. */
  next(view: View, goal: Goal): NextStep<Step>;
  /** Executes a step. Before anything is changed, the data that a later run needs is written to the journal. */
  execute(step: Step, view: View): Promise<void>;
  /** Returns a signal that aborts waits in the current state of the run (docs/contract.md 5.13, 5.14). */
  signalFor(goal: Goal): AbortSignal;
}

/** A run that can be rolled back. */
export interface DrivenRun<View, Step extends { kind: string }> extends Driver<View, Step> {
  /**
   * Switches to a rollback after an error during the update. The switch also applies to a run that resumes after a
   * kill. Returns a function that returns the error to throw after the rollback.
   * @throws the final error of a run that cannot be rolled back
   */
  turnBack(error: unknown): Promise<() => unknown>;
  /** Completes a run that has reached its goal. */
  end(): Promise<RunOutcome>;
  close(): void;
}

/** A failure that may succeed if the operation is retried. */
export class TryAgain extends Error {
  /** Name of the failed operation, whose tries are counted. */
  readonly what: string;
  /** Error with which the run fails after the last try. */
  readonly failure: unknown;
  /** Message for the log; null if nothing must be logged. */
  readonly sentence: string | null;
  readonly tries: number;

  constructor(
    what: string,
    failure: unknown,
    { sentence = null, tries = 4 }: { sentence?: string | null; tries?: number } = {},
  ) {
    super(what);
    this.what = what;
    this.failure = failure;
    this.sentence = sentence;
    this.tries = tries;
  }
}

const pauseMs = 500;

/** Publishes each step before it is executed, so that tests can interrupt the run at this point. */
const told = channel('svc-updater.step');
let current: string | null = null;

/** Returns the name of the last executed step, such as `verify`. */
export const currentStep = (): string | null => current;

/** Inspects, plans and executes steps until the goal is reached. */
export async function runSteps<View, Step extends { kind: string }>(
  driver: Driver<View, Step>,
  goal: Goal,
  log: Log,
): Promise<void> {
  const patience = patienceOf(log, () => driver.signalFor(goal));
  for (;;) {
    const view = await driver.look(goal);
    const step = driver.next(view, goal);
    if (isDone(step)) return;
    if (isBlocked(step)) throw step.why;
    current = step.kind;
    told.publish({ goal, kind: step.kind });
    await driver.execute(step, view).catch(patience);
  }
}

/**
 * Updates to the new version, and rolls back if the update fails.
 * @throws the final error of the run, after the rollback
 */
export async function runToGoal<View, Step extends { kind: string }>(
  run: DrivenRun<View, Step>,
  log: Log,
): Promise<RunOutcome> {
  try {
    await runSteps(run, 'update', log);
  } catch (error) {
    return await rollBack(run, error, log);
  } finally {
    run.close();
  }
  return run.end();
}

/** Rolls back. Always throws the final error of the run, even after a successful rollback. */
export async function rollBack<View, Step extends { kind: string }>(
  run: DrivenRun<View, Step>,
  error: unknown,
  log: Log,
): Promise<never> {
  const end = await run.turnBack(error);
  await runSteps(run, 'rollback', log);
  throw end();
}

/** Retries work that is not a step of the loop. */
export async function retryUntilDone<T>({ engine, log }: EngineContext, work: () => Promise<T>): Promise<T> {
  const patience = patienceOf(log, () => engine.aborted);
  for (;;) {
    const result = await work().then(
      (value) => ({ value }),
      (error: unknown) => patience(error),
    );
    if (result) return result.value;
  }
}

/**
 * Returns an error handler that waits before each retry, longer each time.
 * @throws the failure after the last try
 */
function patienceOf(log: Log, signalNow: () => AbortSignal): (error: unknown) => Promise<void> {
  const counts = new Map<string, number>();
  return async (error) => {
    if (!(error instanceof TryAgain)) throw error;
    const { what, failure, sentence, tries } = error;
    const count = (counts.get(what) ?? 0) + 1;
    counts.set(what, count);
    if (count >= tries) throw failure;
    if (sentence !== null) log.warn(sentence);
    const signal = signalNow();
    await sleepFor(pauseMs * count, signal);
    signal.throwIfAborted();
  };
}

const isDone = (step: { kind: string }): step is Done => step.kind === 'done';
const isBlocked = (step: { kind: string }): step is Blocked => step.kind === 'blocked';
