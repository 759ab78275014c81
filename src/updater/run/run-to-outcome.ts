import { Interrupted } from '../../core/cancellation/cancelled.ts';
import type { OutcomeFacts } from './log/outcome-details.ts';
import {
  createFailedOutcome,
  logFailure,
  logLastLine,
  maskOutcome,
  type RunOutcome,
} from './log/run-outcome.ts';
import type { FirstContext } from './run-context.ts';
import { currentStep } from './run-steps.ts';

interface Run {
  work(): Promise<RunOutcome>;
  /** Returns facts for the last line of a failed run. */
  facts(): OutcomeFacts;
  /** Records the outcome of the run. */
  close(ending: RunOutcome): Promise<void>;
  /** Records a crash immediately. Returns whether the engine restarts this container, which then resumes the run. */
  recordCrash(ending: RunOutcome): boolean;
  /**
   * Message that explains how the run is resumed after an engine shutdown. If null, a shutdown is a failure of the run.
   */
  afterShutdown: string | null;
}

/** Does the work of a run and always logs its outcome. Returns the exit code. */
export async function runToEnd(
  { log, cancellation, notifier, onCrash }: FirstContext,
  { work, facts, close, recordCrash, afterShutdown }: Run,
): Promise<number> {
  const factsNow = () => ({ ...facts(), step: currentStep() });
  onCrash((error) => {
    const { lines, ...ending } = createFailedOutcome(error, factsNow(), log);
    for (const line of lines) log.error(line);
    if (recordCrash(maskOutcome(log, ending)))
      log.error('the updater crashed; its container is started again');
    else logLastLine(ending, log);
    return ending.exitCode;
  });
  try {
    const ending = await work().catch((error) => {
      if (error instanceof Interrupted && afterShutdown !== null) throw error;
      return logFailure(error, log, factsNow(), cancellation.signalNumber);
    });
    // A later crash logs nothing, because the last line of the log has been written.
    onCrash(() => ending.exitCode);
    cancellation.over();
    await close(ending);
    const { outcome, message, fields = {} } = ending;
    const textOf = (field: unknown) => (typeof field === 'string' ? field : null);
    const about = { code: textOf(fields.code), from: textOf(fields.from), version: textOf(fields.to) };
    if (outcome !== 'unchanged') notifier.send({ event: 'finished', outcome, message, ...about });
    return ending.exitCode;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    log.warn(`the engine is shutting down; ${afterShutdown}`);
    return 128 + cancellation.signalNumber;
  }
}
