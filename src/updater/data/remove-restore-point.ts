import { requireUpdateError, type UpdateError } from '../../core/errors/update-error.ts';
import type { DataContext, RestorePointLocation } from './data-context.ts';
import {
  findRestorePoints,
  formatRestorePoint,
  isUsedRestorePoint,
  readRestorePointRecord,
  removeRestorePointDirectory,
} from './restore-point.ts';
import { stopRetainingImages } from './retain-images.ts';

type Owner = Parameters<typeof findRestorePoints>[1];

/** Removes a restore point, and the tags and containers that protect its images. */
export async function removeRestorePoint(
  { engine, project }: DataContext,
  place: RestorePointLocation,
): Promise<void> {
  await stopRetainingImages(engine, project, place);
  await removeRestorePointDirectory(place);
}

interface DiscardResult {
  removed: number;
  /** Restore points that could not be removed. A warning has been logged for each of them. */
  failures: { directory: string; error: UpdateError }[];
}

/** Removes the project's restore points, except any with an unreadable record, which may belong to another project. */
export async function removeProjectRestorePoints(
  doors: DataContext,
  directory: string,
  project: Owner,
  which: { except?: readonly string[]; onlyUsed?: boolean } = {},
): Promise<DiscardResult> {
  const places = await findRestorePoints(directory, project);
  const discarded: DiscardResult = { removed: 0, failures: [] };
  for (const place of places.filter((each) => !which.except?.includes(each.directory))) {
    if (which.onlyUsed && !(await isUsedRestorePoint(place))) continue;
    try {
      const point = await readRestorePointRecord(place);
      await removeRestorePoint(doors, place);
      doors.log.info(
        point === null
          ? `removed an empty restore point: ${place.directory}`
          : `removed ${formatRestorePoint(point)}: ${place.directory}`,
      );
      discarded.removed++;
    } catch (cause) {
      const error = requireUpdateError(cause);
      doors.log.warn(`the restore point in ${place.directory} could not be removed: ${error.message}`);
      discarded.failures.push({ directory: place.directory, error });
    }
  }
  return discarded;
}
