import { requireUpdateError, type UpdateError } from '../../core/errors/update-error.ts';
import type { DataContext, RestorePointLocation } from './data-context.ts';
import {
  findRestorePoints,
  formatRestorePoint,
  isUsedRestorePoint,
  type RestorePointProject,
  readRestorePointRecord,
  removeRestorePointDirectory,
} from './restore-point.ts';
import { stopRetainingImages } from './retain-images.ts';

/** Removes a restore point, and the tags and containers that protect its images. */
export async function removeRestorePoint(
  { engine, project }: DataContext,
  location: RestorePointLocation,
): Promise<void> {
  await stopRetainingImages(engine, project, location);
  await removeRestorePointDirectory(location);
}

interface DiscardResult {
  removed: number;
  /** Restore points that could not be removed. A warning has been logged for each of them. */
  failures: { directory: string; error: UpdateError }[];
}

/** Removes the project's restore points, except any with an unreadable record, which may belong to another project. */
export async function removeProjectRestorePoints(
  dataContext: DataContext,
  directory: string,
  project: RestorePointProject,
  which: { except?: readonly string[]; onlyUsed?: boolean } = {},
): Promise<DiscardResult> {
  const places = await findRestorePoints(directory, project);
  const discarded: DiscardResult = { removed: 0, failures: [] };
  for (const location of places.filter((each) => !which.except?.includes(each.directory))) {
    if (which.onlyUsed && !(await isUsedRestorePoint(location))) continue;
    try {
      const point = await readRestorePointRecord(location);
      await removeRestorePoint(dataContext, location);
      dataContext.log.info(
        point === null
          ? `removed an empty restore point: ${location.directory}`
          : `removed ${formatRestorePoint(point)}: ${location.directory}`,
      );
      discarded.removed++;
    } catch (cause) {
      const error = requireUpdateError(cause);
      dataContext.log.warn(
        `the restore point in ${location.directory} could not be removed: ${error.message}`,
      );
      discarded.failures.push({ directory: location.directory, error });
    }
  }
  return discarded;
}
