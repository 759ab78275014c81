import { UpdateError } from '../../progress/update-error.ts';
import type { DataDoors, PointPlace } from './data-doors.ts';
import { releaseImages } from './hold-images.ts';
import { isUsed, type Point, placesIn, readPoint, removePlace } from './point.ts';

type Owner = Parameters<typeof placesIn>[1];

/** Removes a restore point, the tags of its images first. @param images that are held for it, beside those in its record */
export async function discardPoint(
  { engine, project }: DataDoors,
  place: PointPlace,
  { point, images = [] }: { point: Pick<Point, 'images'> | null; images?: readonly string[] },
): Promise<void> {
  await releaseImages(engine, project, place, [...images, ...(point?.images ?? [])]);
  await removePlace(place);
}

/** Removes restore points of the project. One whose record cannot be read stays, with a warning. */
export async function discardPoints(
  doors: DataDoors,
  directory: string,
  project: Owner,
  which: { except?: readonly string[]; onlyUsed?: boolean } = {},
): Promise<number> {
  const places = await placesIn(directory, project);
  let removed = 0;
  for (const place of places.filter((each) => !which.except?.includes(each.directory))) {
    if (which.onlyUsed && !(await isUsed(place))) continue;
    try {
      await discardPoint(doors, place, { point: await readPoint(place) });
      removed++;
    } catch (error) {
      if (!(error instanceof UpdateError)) throw error;
      doors.log.warn(`the restore point in ${place.directory} could not be removed: ${error.message}`);
    }
  }
  return removed;
}
