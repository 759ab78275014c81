import { InterruptedError } from '../../core/cancellation/cancelled.ts';
import type { OutcomeDetails } from './log/outcome-details.ts';
import {
  createFailedOutcome,
  logFailure,
  logLastLine,
  maskOutcome,
  type RunOutcome,
} from './log/run-outcome.ts';
import type { InitialRunContext } from './run-context.ts';
import { getCurrentStepName } from './run-steps.ts';

interface RunCallbacks {
  work(): Promise<RunOutcome>;
  facts(): OutcomeDetails;
  close(outcome: RunOutcome): Promise<void>;
  /**
   * Records a crash before the process exits. Returns whether the engine will restart this container to resume the run.
   */
  recordCrash(outcome: RunOutcome): boolean;
  /** Explains in the log how the run resumes after an engine shutdown. If null, a shutdown makes the run fail. */
  afterShutdown: string | null;
}

/** Always logs the outcome, even after a crash. Returns the exit code. */
export async function runAndLogOutcome(
  { log, cancellation, notifier, onCrash }: InitialRunContext,
  { work, facts, close, recordCrash, afterShutdown }: RunCallbacks,
): Promise<number> {
  const factsNow = () => ({ ...facts(), step: getCurrentStepName() });
  onCrash((error) => {
    const { lines, ...outcome } = createFailedOutcome(error, factsNow(), log);
    for (const line of lines) log.error(line);
    if (recordCrash(maskOutcome(log, outcome)))
      log.error('the updater crashed; its container is started again');
    else logLastLine(outcome, log);
    return outcome.exitCode;
  });
  try {
    const ending = await work().catch((error) => {
      if (error instanceof InterruptedError && afterShutdown !== null) throw error;
      return logFailure(error, log, factsNow(), cancellation.signalNumber);
    });
    // The last line of the log has been written, so a later crash must not log anything.
    onCrash(() => ending.exitCode);
    cancellation.stopLogging();
    await close(ending);
    const { outcome, message, fields = {} } = ending;
    const textOf = (field: unknown) => (typeof field === 'string' ? field : null);
    const about = { code: textOf(fields.code), from: textOf(fields.from), version: textOf(fields.to) };
    if (outcome !== 'unchanged') notifier.send({ event: 'finished', outcome, message, ...about });
    return ending.exitCode;
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error;
    log.warn(`the engine is shutting down; ${afterShutdown}`);
    return 128 + cancellation.signalNumber;
  }
}
