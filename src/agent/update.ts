import { removeScratches } from '../engine/api/scratch.ts';
import { type ReadOptions, withProjectOptions } from './inspect/choose-workers.ts';
import { findInstance } from './inspect/find-instance.ts';
import { type Ending, repeatEnding } from './log/ending.ts';
import { planRun } from './plan-run.ts';
import type { RunContext } from './process/run-context.ts';
import { pullAndPrepare } from './pull/pull-and-prepare.ts';
import { awaitOthers } from './replace/await-others.ts';
import { replaceContainers } from './replace/replace-containers.ts';
import { beginJournal } from './resume/begin-journal.ts';
import type { Locked, RunSoFar } from './resume/run-so-far.ts';
import { settleEarlier } from './resume/settle-earlier.ts';
import { endedBefore, toItsEnd } from './resume/to-its-end.ts';
import { undoBeforeRecreate } from './resume/undo-before-recreate.ts';
import type { JournalData } from './state/journal.ts';
import { takeLock } from './state/lock.ts';
import { wasLeftDown } from './state/was-interrupted.ts';
import { endUnchanged, isUnchanged } from './unchanged.ts';
import { writeUpdate } from './write-update.ts';

/** The story of a run. Gives the exit code; its last line, the journal and the restart policy say the same. */
export const update = (given: RunContext, read: ReadOptions): Promise<number> =>
  toItsEnd(given, async (soFar) => {
    const instance = await findInstance(given);
    soFar.instance = instance;
    const ended = await endedBefore(instance);
    if (ended !== null) return repeatEnding(ended, given.log);
    const context = await withProjectOptions(given, instance.place, read);
    const lock = await takeLock(context, instance.own, instance.place.mountedAt);
    soFar.lock = lock;
    const locked = { instance, lock };
    const earlier = await settleEarlier(context, locked, soFar);
    if (earlier.kind === 'over') return repeatEnding(earlier.ending, context.log);
    if (earlier.kind === 'go-on') return replaceContainers(context, earlier.journal, earlier.changeover);
    return fromTheBeginning(context, locked, soFar, earlier.earlier);
  });

/** Phase by phase, as the log names them. `earlier` is the journal of the run before, which is settled. */
async function fromTheBeginning(
  context: RunContext,
  locked: Locked,
  soFar: RunSoFar,
  earlier: JournalData | null,
): Promise<Ending> {
  const { instance, lock } = locked;
  const project = instance.place.name;
  if (lock.takenOver) await removeScratches(context.engine, project);
  const services = new Set([context.options.app, ...context.options.workers]);
  const quiet = await awaitOthers(context, project, { services, ignores: wasLeftDown(earlier) });
  const planned = await planRun(context, instance, soFar, { ...quiet, earlier });
  const journal = await beginJournal(context, locked, { ...planned, earlier });
  soFar.journal = journal;
  const texts = new Map<string, string>();
  const ready = async () => {
    const pulled = await pullAndPrepare(context, planned, journal);
    if (isUnchanged(planned.installation, pulled)) return { pulled };
    return writeUpdate(context, journal, planned, { ...pulled, ...quiet, earlier, texts });
  };
  const done = await ready().catch((error) => undoBeforeRecreate(context, journal, error, { soFar, texts }));
  // Containers that run already and are not well are no reason to put anything back.
  if ('pulled' in done) return endUnchanged(context, journal, planned, done.pulled);
  return replaceContainers(context, journal, done.changeover, { texts, look: done.look });
}
