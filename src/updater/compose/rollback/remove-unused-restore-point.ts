import { findMissingVolumes } from '../../data/copies/copy-mounts.ts';
import {
  markRestorePointUsed,
  readRestorePointRecord,
  restorePointLocationOf,
} from '../../data/restore-point.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { removeRunRestorePoint } from '../save/remove-run-restore-point.ts';

/** Removes the run's restore point, unless it was restored or is the only copy of some data. */
export async function removeUnusedRestorePoint(
  context: JournaledContext,
  isOvertaken: boolean,
): Promise<void> {
  const { journal } = context;
  const { point, state, project } = journal.data;
  if (!point) return;
  const location = restorePointLocationOf(point.directory, project);
  // A restore point whose data was restored is marked as used. It is kept until the next update saves data.
  if (state.at === 'restoring') {
    await markRestorePointUsed(location).catch(() => {});
    await journal.tryWrite({ point: null });
    return;
  }
  const found = await readRestorePointRecord(location).catch(() => null);
  const gone = found === null ? [] : await findMissingVolumes(context, found.mounts);
  const isOnly = gone.length > 0 || (point.state === 'saved' && isOvertaken);
  if (!isOnly) return removeRunRestorePoint(context);
  const why = gone[0]
    ? `the volume of ${gone[0].where} has been removed`
    : 'another version has changed the data';
  context.log.warn(`${why}; the data from before the update is kept in ${point.directory}`);
  await journal.tryWrite({ point: null });
}
