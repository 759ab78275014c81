import type { Container } from '../../../engine/container.ts';
import type { RunContext } from '../../run/run-context.ts';
import { recordOf } from '../../run/state/changeover.ts';
import { emptyJournal, isPending, Journal, type JournalData } from '../../run/state/journal.ts';
import { runStamp } from '../../run/state/kept-runs.ts';
import { wasInterrupted } from '../../run/state/was-interrupted.ts';
import { fromWord } from '../inspect/describe.ts';
import type { Plan } from '../plan/plan.ts';
import type { EarlyPull } from '../pull/early-pull.ts';
import { tagsBefore } from '../pull/tags.ts';
import type { Locked } from './run-so-far.ts';

/**
 * The journal of a run that begins, written.
 * @param before `earlier`: the journal of the run before; `leftovers`: what killed compose calls have made
 */
export async function beginJournal(
  { engine, options, startedAt }: RunContext,
  { instance: { own }, lock }: Locked,
  { installation, moves }: Plan,
  before: { earlier: JournalData | null; leftovers: readonly Container[]; begun: EarlyPull },
): Promise<Journal> {
  const { earlier, leftovers, begun } = before;
  const interrupted = wasInterrupted(earlier, leftovers);
  const isNew = await begun.references();
  const isAgain = earlier !== null && isPending(earlier) && earlier.containerId === own.id;
  const journal = new Journal(lock, {
    ...emptyJournal,
    run: runStamp(startedAt),
    containerId: own.id,
    attempt: isAgain ? earlier.attempt + 1 : 1,
    project: installation.project,
    target: options.target?.tag ?? null,
    services: [options.app, ...options.workers],
    from: fromWord(installation),
    tags: await tagsBefore(
      engine,
      moves.flatMap(({ to }) => (isNew.has(to) ? [] : [to])),
    ),
    containers: installation.containers.map((container) => recordOf(container, interrupted)),
  });
  await journal.write();
  return journal;
}
