import { channel } from 'node:diagnostics_channel';
import { sleepFor } from '../../core/cancellation/wait-until.ts';
import type { Log } from './log/run-log.ts';
import type { RunOutcome } from './log/run-outcome.ts';
import type { EngineContext } from './run-context.ts';

export type RunGoal = 'update' | 'rollback';

/** The goal is reached. */
interface Done {
  kind: 'done';
}

/** The goal cannot be reached. */
interface Blocked {
  kind: 'blocked';
  error: unknown;
}

export type NextStep<Step> = Step | Done | Blocked;

/** A run of a compose project or a stack: the operations that differ between them (docs/run.md, "The loop"). */
export interface DrivenRun<View, Step extends { kind: string }> {
  /** Inspects only the part of the current state that is relevant to the goal. */
  inspect(goal: RunGoal): Promise<View>;
  /** The step must depend only on the view and the goal. */
  planNextStep(view: View, goal: RunGoal): NextStep<Step>;
  /** Before a step changes anything, the data that a later run needs must be in the journal. */
  execute(step: Step, view: View): Promise<void>;
  /** The signal that aborts waits in the current state of the run (docs/contract.md 5.13, 5.14). */
  getWaitSignal(goal: RunGoal): AbortSignal;
  /**
   * Switches to a rollback after an error, even in a resumed run. Returns a function that creates the error to throw
   * after the rollback.
   * @throws the final error of a run that cannot be rolled back
   */
  switchToRollback(error: unknown): Promise<() => unknown>;
  completeRun(): Promise<RunOutcome>;
  close(): void;
}

/** Thrown by an operation that may succeed if it is retried. */
export class RetryableError extends Error {
  /** Error to throw after the last try. */
  readonly failure: unknown;
  /** Warning to log before a retry; null for none. */
  readonly sentence: string | null;
  readonly tries: number;

  /** @param operation - name by which the tries are counted */
  constructor(
    operation: string,
    failure: unknown,
    { sentence = null, tries = 4 }: { sentence?: string | null; tries?: number } = {},
  ) {
    super(operation);
    this.failure = failure;
    this.sentence = sentence;
    this.tries = tries;
  }
}

const pauseMs = 500;

/** Publishes each step before its execution, so that tests can interrupt the run at that step. */
const stepChannel = channel('svc-updater.step');
let current: string | null = null;

/** Name of the step that was started last, such as `verify`; null before the first step. */
export const getCurrentStepName = (): string | null => current;

export async function runSteps<View, Step extends { kind: string }>(
  driver: DrivenRun<View, Step>,
  goal: RunGoal,
  log: Log,
): Promise<void> {
  const patience = createRetryHandler(log, () => driver.getWaitSignal(goal));
  for (;;) {
    const view = await driver.inspect(goal);
    const step = driver.planNextStep(view, goal);
    if (isDone(step)) return;
    if (isBlocked(step)) throw step.error;
    current = step.kind;
    stepChannel.publish({ goal, kind: step.kind });
    await driver.execute(step, view).catch(patience);
  }
}

/**
 * Updates to the new version. If the update fails, rolls back.
 * @throws the final error of the run, after the rollback
 */
export async function updateOrRollBack<View, Step extends { kind: string }>(
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
  return run.completeRun();
}

/** Always throws the final error of the run, even after a successful rollback. */
export async function rollBack<View, Step extends { kind: string }>(
  run: DrivenRun<View, Step>,
  error: unknown,
  log: Log,
): Promise<never> {
  const end = await run.switchToRollback(error);
  await runSteps(run, 'rollback', log);
  throw end();
}

/** Retries work that is not a step of the loop. */
export async function retryUntilDone<T>({ engine, log }: EngineContext, work: () => Promise<T>): Promise<T> {
  const patience = createRetryHandler(log, () => engine.aborted);
  for (;;) {
    const result = await work().then(
      (value) => ({ value }),
      (error: unknown) => patience(error),
    );
    if (result) return result.value;
  }
}

/**
 * Creates an error handler that waits before each retry, longer each time.
 * @throws the failure after the last try
 */
function createRetryHandler(log: Log, signalNow: () => AbortSignal): (error: unknown) => Promise<void> {
  const counts = new Map<string, number>();
  return async (error) => {
    if (!(error instanceof RetryableError)) throw error;
    const { message: operation, failure, sentence, tries } = error;
    const count = (counts.get(operation) ?? 0) + 1;
    counts.set(operation, count);
    if (count >= tries) throw failure;
    if (sentence !== null) log.warn(sentence);
    const signal = signalNow();
    await sleepFor(pauseMs * count, signal);
    signal.throwIfAborted();
  };
}

const isDone = (step: { kind: string }): step is Done => step.kind === 'done';
const isBlocked = (step: { kind: string }): step is Blocked => step.kind === 'blocked';
