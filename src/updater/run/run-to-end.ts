import { Interrupted } from '../../core/progress/stops.ts';
import { currentStep } from './drive.ts';
import { type Ending, endingOf, keptEnding, logEnd, reportEnding } from './log/ending.ts';
import type { EndingFacts } from './log/ending-facts.ts';
import type { FirstContext } from './run-context.ts';

interface Run {
  work(): Promise<Ending>;
  /** For the last line of a failure. */
  facts(): EndingFacts;
  /** Records the ending. */
  close(ending: Ending): Promise<void>;
  /** Records a crash, at once. Gives whether the engine starts this container again, which then continues. */
  recordCrash(ending: Ending): boolean;
  /** What happens after a shutdown of the engine. Null: nothing, so a shutdown is a failure. */
  afterShutdown: string | null;
}

/** Works and logs how the work ended, whatever happens. Gives the exit code. */
export async function runToEnd(
  { log, cancellation, notifier, onCrash }: FirstContext,
  { work, facts, close, recordCrash, afterShutdown }: Run,
): Promise<number> {
  const factsNow = () => ({ ...facts(), step: currentStep() });
  onCrash((error) => {
    const { lines, ...ending } = endingOf(error, factsNow(), log);
    for (const line of lines) log.error(line);
    if (recordCrash(keptEnding(log, ending)))
      log.error('the updater crashed; its container is started again');
    else logEnd(ending, log);
    return ending.exitCode;
  });
  try {
    const ending = await work().catch((error) => {
      if (error instanceof Interrupted && afterShutdown !== null) throw error;
      return reportEnding(error, log, factsNow(), cancellation.signalNumber);
    });
    // The log has its last line.
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
