import type { RunContext } from '../../run/run-context.ts';
import { recordOf } from '../../run/state/changeover.ts';
import { emptyJournal, isPending, Journal, type JournalData } from '../../run/state/journal.ts';
import { runStamp } from '../../run/state/kept-runs.ts';
import { fromWord } from '../inspect/describe.ts';
import { movesOf } from '../plan/plan-update.ts';
import type { EarlyPull } from '../pull/early-pull.ts';
import { tagsBefore } from '../pull/tags.ts';
import type { Locked, PlannedRun } from './run-so-far.ts';

/** The journal of a run that begins, written. `earlier` is that of the run before. */
export async function beginJournal(
  { engine, options, startedAt }: RunContext,
  { instance: { own }, lock }: Locked,
  { installation, plan, interrupted, begun }: PlannedRun & { begun: EarlyPull },
  earlier: JournalData | null,
): Promise<Journal> {
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
      movesOf(plan).flatMap(({ to }) => (isNew.has(to) ? [] : [to])),
    ),
    containers: installation.containers.map((container) => recordOf(container, interrupted)),
  });
  await journal.write();
  return journal;
}
