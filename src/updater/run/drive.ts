import { channel } from 'node:diagnostics_channel';
import { pause } from '../../core/progress/wait.ts';
import type { Ending } from './log/ending.ts';
import type { Log } from './log/log.ts';
import type { EngineContext } from './run-context.ts';

/** Where a run is going: to the new version, or back to the old one. */
export type Goal = 'update' | 'rollback';

/** Nothing is left to do. */
interface Done {
  kind: 'done';
}

/** The goal cannot be reached. */
interface Blocked {
  kind: 'blocked';
  why: unknown;
}

export type NextStep<Step> = Step | Done | Blocked;

/** A run on a compose project or on a stack (docs/design.md, "The loop"). */
export interface Driver<View, Step extends { kind: string }> {
  /** What is there now, as far as it matters on this way. */
  look(goal: Goal): Promise<View>;
  /** What to do next. Decides by the view alone. */
  next(view: View, goal: Goal): NextStep<Step>;
  /** What a later run has to know is in the journal before anything is changed. */
  execute(step: Step, view: View): Promise<void>;
  /** Ends waits in the current state of the run (docs/contract.md 5.13, 5.14). */
  signalFor(goal: Goal): AbortSignal;
}

/** A run that can go back. */
export interface DrivenRun<View, Step extends { kind: string }> extends Driver<View, Step> {
  /**
   * After an error on the way to the new version: from here on the run rolls back, also after a kill. Gives what the run ends
   * with after that. @throws the end of a run that cannot go back
   */
  turnBack(error: unknown): Promise<() => unknown>;
  /** The goal is reached. */
  end(): Promise<Ending>;
  close(): void;
}

/** Something has failed, and may succeed if it is tried again. */
export class TryAgain extends Error {
  /** What is tried: its tries are counted. */
  readonly what: string;
  /** What ends the run after the last try. */
  readonly failure: unknown;
  /** For the log; null if there is nothing to say. */
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

/** Told of each step before it is taken: tests end the run there. */
const told = channel('svc-updater.step');
let current: string | null = null;

/** The step that was taken last: `verify`. */
export const currentStep = (): string | null => current;

/** Looks, decides, acts, and looks again until the goal is reached. */
export async function drive<View, Step extends { kind: string }>(
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

/** Drives to the new version, or back if that fails. @throws what the run ends with */
export async function runToGoal<View, Step extends { kind: string }>(
  run: DrivenRun<View, Step>,
  log: Log,
): Promise<Ending> {
  try {
    await drive(run, 'update', log);
  } catch (error) {
    return await goBack(run, error, log);
  } finally {
    run.close();
  }
  return run.end();
}

/** Always throws what the run ends with. */
export async function goBack<View, Step extends { kind: string }>(
  run: DrivenRun<View, Step>,
  error: unknown,
  log: Log,
): Promise<never> {
  const end = await run.turnBack(error);
  await drive(run, 'rollback', log);
  throw end();
}

/** For what is tried outside the loop. */
export async function untilDone<T>({ engine, log }: EngineContext, work: () => Promise<T>): Promise<T> {
  const patience = patienceOf(log, () => engine.aborted);
  for (;;) {
    const result = await work().then(
      (value) => ({ value }),
      (error: unknown) => patience(error),
    );
    if (result) return result.value;
  }
}

/** Waits before another try, longer each time. @throws the failure after the last one */
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
    await pause(pauseMs * count, signal);
    signal.throwIfAborted();
  };
}

const isDone = (step: { kind: string }): step is Done => step.kind === 'done';
const isBlocked = (step: { kind: string }): step is Blocked => step.kind === 'blocked';
