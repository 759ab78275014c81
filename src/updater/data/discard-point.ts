import { requireUpdateError, type UpdateError } from '../../core/progress/update-error.ts';
import type { DataDoors, PointPlace } from './data-doors.ts';
import { releaseImages } from './hold-images.ts';
import { isUsed, placesIn, readPoint, removePlace, wordsOf } from './point.ts';

type Owner = Parameters<typeof placesIn>[1];

/** Removes the tags that protect the images of a restore point, then the restore point. */
export async function discardPoint({ engine, project }: DataDoors, place: PointPlace): Promise<void> {
  await releaseImages(engine, project, place);
  await removePlace(place);
}

interface Discarded {
  removed: number;
  /** Restore points that could not be removed, each logged with a warning. */
  failures: { directory: string; error: UpdateError }[];
}

/**
 * Removes restore points of the project, except those with an unreadable record, which may belong to another project.
 */
export async function discardPoints(
  doors: DataDoors,
  directory: string,
  project: Owner,
  which: { except?: readonly string[]; onlyUsed?: boolean } = {},
): Promise<Discarded> {
  const places = await placesIn(directory, project);
  const discarded: Discarded = { removed: 0, failures: [] };
  for (const place of places.filter((each) => !which.except?.includes(each.directory))) {
    if (which.onlyUsed && !(await isUsed(place))) continue;
    try {
      const point = await readPoint(place);
      await discardPoint(doors, place);
      doors.log.info(
        point === null
          ? `removed an empty restore point: ${place.directory}`
          : `removed ${wordsOf(point)}: ${place.directory}`,
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
