import { once } from 'node:events';
import { askApi } from '../../engine/api/api.ts';
import { removeOwnScratches } from '../../engine/api/scratch.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { Interrupted } from '../../progress/stops.ts';
import type { FoundInstance } from '../inspect/find-instance.ts';
import { type Ending, reportEnding } from '../log/ending.ts';
import type { RunContext } from '../process/run-context.ts';
import { readJournal } from '../state/journal.ts';
import { dropLock } from '../state/lock.ts';
import { stateDirectory } from '../state/state-directory.ts';
import { endingFacts, nothingYet, type RunSoFar } from './run-so-far.ts';

/** An update or the removal of a restore point, a rollback, or a command that changes nothing and needs no clean-up. */
export type RunKind = 'run' | 'rollback' | 'look';

/** Does the work of a run, says how it ended whatever happens, and gives back what it held. Gives the exit code. */
export async function finishRun(
  context: RunContext,
  work: (soFar: RunSoFar) => Promise<Ending>,
  kind: RunKind,
): Promise<number> {
  const { log, options, cancellation } = context;
  const soFar = nothingYet();
  try {
    const ending = await work(soFar).catch((error) => {
      if (error instanceof Interrupted && kind !== 'look') throw error;
      const facts = { ...endingFacts(soFar), product: options.product, isRollback: kind === 'rollback' };
      return reportEnding(error, log, facts, cancellation.signalNumber);
    });
    cancellation.over();
    await close(context, soFar, ending);
    return ending.exitCode;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    log.warn('the engine is shutting down; the update resumes when the updater is started again');
    return 128 + cancellation.signalNumber;
  } finally {
    await soFar.lock?.release();
  }
}

/** How this very container ended its run before it was killed, or started once more; null where it did not. */
export async function endedBefore({ own, place }: FoundInstance): Promise<Ending | null> {
  // A journal that may not be read is told by the lock, which has the better sentence for it.
  const said = await readJournal(stateDirectory(place.mountedAt)).catch(() => null);
  if (said === null || 'unreadable' in said || said.outcome === null || said.containerId !== own.id)
    return null;
  await dropLock(place.mountedAt, own);
  return { ...said.outcome, exitCode: 0 };
}

/** The outcome is in the journal before the engine is told not to start this container again. */
async function close(context: RunContext, soFar: RunSoFar, ending: Ending): Promise<void> {
  const { instance, lock, journal } = soFar;
  const engine = context.engine.uncancellable().quiet();
  // An engine that is away starts this failed container again when it is back; the new start goes on with the journal.
  if (instance === null || (ending.exitCode !== 0 && !(await engine.answers()))) return;
  // If the outcome cannot be written, the next run finds an open journal and settles it. The log has its last line.
  await journal?.end(ending).catch(() => {});
  if (lock !== null) await removeOwnScratches(engine).catch(() => {});
  // The lock goes before the restart policy: a kill between the two lets the engine start this container again, which
  // then finds the outcome in the journal and leaves nothing behind.
  await lock?.release().catch(() => {});
  const { id, restartPolicy } = instance.own;
  if (restartPolicy === 'no') return;
  const updated = await engine.call(['update', '--restart=no', id]).catch(() => null);
  if (updated?.exitCode !== 0 && engine.isPodman) await stopOwn(engine, id);
}

/**
 * Podman 4 cannot change the policy of a container. It never starts one again that it was told to stop, and says so by a
 * signal, which ends nothing here any more: the exit code is this run's own.
 */
async function stopOwn(engine: Engine, id: string): Promise<void> {
  const told = once(process, 'SIGTERM', { signal: AbortSignal.timeout(10_000) });
  const asked = askApi(engine, { method: 'POST', path: `/containers/${id}/stop?t=60`, deadlineMs: 10_000 });
  await Promise.race([told, asked]).catch(() => {});
}
