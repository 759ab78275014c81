import { Interrupted } from '../../core/progress/stops.ts';
import { type Ending, reportEnding } from './log/ending.ts';
import type { EndingFacts } from './log/ending-facts.ts';
import type { RunContext } from './run-context.ts';

interface Run {
  work(): Promise<Ending>;
  /** For the last line of a failure. */
  facts(): EndingFacts;
  /** Records the ending. */
  close(ending: Ending): Promise<void>;
  /** What happens after a shutdown of the engine. Null: nothing, so a shutdown is a failure. */
  afterShutdown: string | null;
}

/** Works and logs how the work ended, whatever happens. Gives the exit code. */
export async function runToEnd(
  { log, cancellation, notifier }: Pick<RunContext, 'log' | 'cancellation' | 'notifier'>,
  { work, facts, close, afterShutdown }: Run,
): Promise<number> {
  try {
    const ending = await work().catch((error) => {
      if (error instanceof Interrupted && afterShutdown !== null) throw error;
      return reportEnding(error, log, facts(), cancellation.signalNumber);
    });
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
