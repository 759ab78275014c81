import { Interrupted } from '../progress/stops.ts';
import { freshRun } from './fresh-run.ts';
import { type ReadOptions, withChosen } from './inspect/choose-workers.ts';
import type { FoundInstance } from './inspect/find-instance.ts';
import { findInstance } from './inspect/find-instance.ts';
import { type Ending, repeatEnding, reportEnding } from './log/ending.ts';
import type { World } from './process/world.ts';
import { replaceContainers } from './replace/replace-containers.ts';
import { endingFacts, noHandles, type RunHandles } from './resume/run-handles.ts';
import { settleEarlier } from './resume/settle-earlier.ts';
import { readJournal } from './state/journal.ts';
import { dropLock, takeLock } from './state/lock.ts';
import { stateDirectory } from './state/state-directory.ts';

/** The story of a run. Gives the exit code; its last line, the journal and the restart policy say the same. */
export async function update(world: World, read: ReadOptions): Promise<number> {
  const { log, options, cancellation } = world;
  const handles = noHandles();
  try {
    const ending = await run(world, handles, read).catch((error) => {
      if (error instanceof Interrupted) throw error;
      const facts = { ...endingFacts(handles), product: options.product };
      return reportEnding(error, log, facts, cancellation.signalNumber);
    });
    cancellation.over();
    await close(world, handles, ending);
    return ending.exitCode;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    log.warn(
      'the engine is shutting down: the journal stands, and the update goes on when the updater is started again',
    );
    return 128 + cancellation.signalNumber;
  } finally {
    await handles.lock?.release();
  }
}

async function run(given: World, handles: RunHandles, read: ReadOptions): Promise<Ending> {
  const instance = await findInstance(given);
  handles.instance = instance;
  const ended = await endedBefore(instance);
  if (ended !== null) return repeatEnding(ended, given.log);
  const world = await withChosen(given, instance.place, read);
  handles.lock = await takeLock(world, instance.own, instance.place.mountedAt);
  const earlier = await settleEarlier(world, handles);
  switch (earlier.kind) {
    case 'over':
      return repeatEnding(earlier.ending, world.log);
    case 'go-on':
      return replaceContainers(world, earlier.journal, earlier.changeover);
    case 'fresh':
      return freshRun(world, handles, earlier.earlier);
  }
}

/** How this very container ended its run before it was killed, or started once more; null where it did not. */
async function endedBefore({ own, place }: FoundInstance): Promise<Ending | null> {
  // A journal that may not be read is told by the lock, which has the better sentence for it.
  const said = await readJournal(stateDirectory(place.mountedAt)).catch(() => null);
  if (said === null || 'unreadable' in said || said.outcome === null || said.containerId !== own.id)
    return null;
  await dropLock(place.mountedAt, own);
  return { ...said.outcome, exitCode: 0 };
}

/** The outcome is in the journal before the engine is told not to start this container again. */
async function close(world: World, handles: RunHandles, ending: Ending): Promise<void> {
  const { instance, lock, journal } = handles;
  const engine = world.engine.uncancellable().quiet();
  // An engine that is away starts this failed container again when it is back; the new start goes on with the journal.
  if (instance === null || (ending.exitCode !== 0 && !(await engine.answers()))) return;
  // If the outcome cannot be written, the next run finds an open journal and settles it. The log has its last line.
  await journal?.end(ending).catch(() => {});
  // The lock goes before the restart policy: a kill between the two lets the engine start this container again, which
  // then finds the outcome in the journal and leaves nothing behind.
  await lock?.release().catch(() => {});
  const { id, restartPolicy } = instance.own;
  if (restartPolicy !== 'no') await engine.call(['update', '--restart=no', id]).catch(() => {});
}
