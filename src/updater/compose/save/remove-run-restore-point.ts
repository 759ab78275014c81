import { dirname } from 'node:path';
import { requireUpdateError } from '../../../core/errors/update-error.ts';
import { removeRestorePoint } from '../../data/remove-restore-point.ts';
import { findRestorePoints, restorePointLocationOf } from '../../data/restore-point.ts';
import { removeReserveFiles } from '../../run/state/reserve.ts';
import { createDataContext } from '../data-services/stop-data-services.ts';
import type { JournaledContext } from '../replace/replacement.ts';

/** Removes the restore point that this run began. A second call is harmless. */
export async function removeRunRestorePoint(context: JournaledContext): Promise<void> {
  const { journal } = context;
  const { point, project } = journal.data;
  if (!point) return;
  const location = restorePointLocationOf(point.directory, project);
  const dataContext = await createDataContext(context);
  await removeRestorePoint(dataContext, location).catch((error) =>
    context.log.warn(
      `the restore point in ${location.directory} could not be removed: ${requireUpdateError(error).message}`,
    ),
  );
  // Delete the reserve files only with the last restore point, because older restore points also use them.
  const others = await findRestorePoints(dirname(location.directory), project);
  if (others.length === 0) await removeReserveFiles(project.directory);
  await journal.tryWrite({ point: null });
}
