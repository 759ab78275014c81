import { Cancelled, Interrupted } from '../../progress/stops.ts';
import { endingOf } from '../log/ending.ts';
import type { RunContext } from '../process/run-context.ts';
import { markGoingBack, restoreInstance } from '../replace/way-back/restore-instance.ts';
import type { Journal } from '../state/journal.ts';
import { endingFacts, type RunSoFar } from './run-so-far.ts';

/**
 * A run that ends before `recreate` has files and tags to put back. `texts` are the old ones of the written files. Always
 * throws: why it ended, or `Interrupted`.
 */
export async function undoBeforeRecreate(
  { engine, log, options, cancellation }: RunContext,
  journal: Journal,
  error: unknown,
  { soFar, texts }: { soFar: RunSoFar; texts: ReadonlyMap<string, string> },
): Promise<never> {
  if (error instanceof Interrupted) throw error;
  const isThere = await engine.answers();
  // An engine that has sent a signal and no longer answers is shutting down; it starts this container again afterwards.
  if (error instanceof Cancelled && !isThere) throw new Interrupted();
  // Where the engine does not answer, the journal is left without an end: a restarted container begins the update anew.
  if (isThere) {
    const facts = { ...endingFacts(soFar), product: options.product };
    await markGoingBack(journal, log, endingOf(error, facts, cancellation.signalNumber));
  }
  await restoreInstance(journal, { engine, log, waitTimeoutMs: options.waitTimeoutMs, texts });
  throw error;
}
