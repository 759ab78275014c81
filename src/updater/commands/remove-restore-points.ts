import { UpdateError } from '../../core/errors/update-error.ts';
import type { FoundInstance } from '../compose/inspect/find-project/find-instance.ts';
import { linkProjectPaths } from '../compose/inspect/project-files/read-project.ts';
import type { ProjectRunState } from '../compose/recovery/project-run-state.ts';
import { removeProjectRestorePoints } from '../data/remove-restore-point.ts';
import { resolveRestorePointsDirectory } from '../data/restore-point.ts';
import { formatCount } from '../run/log/format-values.ts';
import type { RunOutcome } from '../run/log/run-outcome.ts';
import type { RunContext } from '../run/run-context.ts';
import { createUnfinishedRunError, readUnfinishedJournal } from '../run/state/journal.ts';
import { takeLock } from '../run/state/lock.ts';
import { removeReserveFiles } from '../run/state/reserve.ts';

/**
 * Removes all restore points of the project. @throws UpdateError journal-pending if an unfinished run has a restore
 * point
 */
export async function removeRestorePoints(
  { engine, log, options }: RunContext,
  { own, paths, location }: FoundInstance,
  soFar: ProjectRunState,
): Promise<RunOutcome> {
  const lock = await takeLock({ engine, log }, own, location.mountedAt);
  soFar.lock = lock;
  const pending = await readUnfinishedJournal(lock.state);
  if (pending?.point) throw createUnfinishedRunError(pending);
  const project = { name: location.name, directory: location.directory, files: [], envFiles: [] };
  await linkProjectPaths(project, paths, log);
  const directory = resolveRestorePointsDirectory(options.data.restoreDir, paths, project);
  if (engine.isPodman) throw new UpdateError('engine-version', 'restore points are not supported on Podman');
  const dataContext = { engine, log, project: location.name, helperImageId: own.imageId };
  const { removed, failures } = await removeProjectRestorePoints(dataContext, directory, project);
  const [failure] = failures;
  if (failure !== undefined) {
    const message = `removed ${formatCount(removed, 'restore point')}; ${failures.length} could not be removed`;
    const directories = failures.map(({ directory }) => directory).join(' ');
    const advice = `If you no longer need these restore points, remove them manually: rm -r ${directories}.`;
    throw new UpdateError(failure.error.code, message, { advice, cause: failure.error });
  }
  await removeReserveFiles(location.directory);
  log.enterPhase('done');
  const message =
    removed === 0
      ? 'unchanged: there is no restore point'
      : `removed: ${formatCount(removed, 'restore point')}`;
  log.info(message);
  return { outcome: 'unchanged', exitCode: 0, message };
}
