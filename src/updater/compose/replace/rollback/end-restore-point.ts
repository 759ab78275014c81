import { missingVolumes } from '../../../data/copies.ts';
import { pointPlace, readPoint } from '../../../data/point.ts';
import type { RunContext } from '../../../run/run-context.ts';
import type { Journal } from '../../../run/state/journal.ts';
import { dropPoint } from '../save.ts';
import { endRollback } from './restore-data.ts';

/** A restore point that was not needed is removed, unless it is the only copy of something. */
export async function endRestorePoint(
  context: RunContext,
  journal: Journal,
  isOvertaken: boolean,
): Promise<void> {
  const { point, state, project } = journal.data;
  if (!point) return;
  if (state.at === 'restoring') return endRollback(journal);
  const found = await readPoint(pointPlace(point.directory, project)).catch(() => null);
  const gone = found === null ? [] : await missingVolumes(context, found.mounts);
  const isOnly = gone.length > 0 || (point.state === 'saved' && isOvertaken);
  if (!isOnly) return dropPoint(context, journal);
  const why = gone[0]
    ? `the volume of ${gone[0].where} has been removed`
    : 'another version has changed the data';
  context.log.warn(`${why}; the data from before the update is kept in ${point.directory}`);
  await journal.note({ point: null });
}
