import { removeScratches } from '../engine/api/scratch.ts';
import { type ReadOptions, withChosen } from './inspect/choose-workers.ts';
import { findInstance } from './inspect/find-instance.ts';
import { type Ending, repeatEnding } from './log/ending.ts';
import { planRun } from './plan-run.ts';
import type { World } from './process/world.ts';
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
export const update = (given: World, read: ReadOptions): Promise<number> =>
  toItsEnd(given, async (soFar) => {
    const instance = await findInstance(given);
    soFar.instance = instance;
    const ended = await endedBefore(instance);
    if (ended !== null) return repeatEnding(ended, given.log);
    const world = await withChosen(given, instance.place, read);
    const lock = await takeLock(world, instance.own, instance.place.mountedAt);
    soFar.lock = lock;
    const locked = { instance, lock };
    const earlier = await settleEarlier(world, locked, soFar);
    if (earlier.kind === 'over') return repeatEnding(earlier.ending, world.log);
    if (earlier.kind === 'go-on') return replaceContainers(world, earlier.journal, earlier.changeover);
    return fromTheBeginning(world, locked, soFar, earlier.earlier);
  });

/** Phase by phase, as the log names them. `earlier` is the journal of the run before, which is settled. */
async function fromTheBeginning(
  world: World,
  locked: Locked,
  soFar: RunSoFar,
  earlier: JournalData | null,
): Promise<Ending> {
  const { instance, lock } = locked;
  const project = instance.place.name;
  if (lock.takenOver) await removeScratches(world.engine, project);
  const services = new Set([world.options.app, ...world.options.workers]);
  const quiet = await awaitOthers(world, project, { services, ignores: wasLeftDown(earlier) });
  const planned = await planRun(world, instance, soFar, { ...quiet, earlier });
  const journal = await beginJournal(world, locked, { ...planned, earlier });
  soFar.journal = journal;
  const texts = new Map<string, string>();
  const ready = async () => {
    const pulled = await pullAndPrepare(world, planned, journal);
    if (isUnchanged(planned.installation, pulled)) return { pulled };
    return writeUpdate(world, journal, planned, { ...pulled, ...quiet, earlier, texts });
  };
  const done = await ready().catch((error) => undoBeforeRecreate(world, journal, error, { soFar, texts }));
  // Containers that run already and are not well are no reason to put anything back.
  if ('pulled' in done) return endUnchanged(world, journal, planned, done.pulled);
  return replaceContainers(world, journal, done.changeover, { texts, look: done.look });
}
