import { join } from 'node:path';
import { disk } from '../../files/file-system.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { releaseImages } from './hold-images.ts';
import type { DataWork, PointPlace } from './kind.ts';
import { kindOf } from './kinds.ts';
import { bytesOf, isWhole, type Point, placesIn, readPoint, removePlace, writePoint } from './point.ts';
import { size } from './survey-point.ts';

/** What stands by for the journal of the way back, where a bad release has filled the disk. */
const reserveName = 'reserve';
const reserveBytes = 2_000_000;
const progressEveryMs = 1_000;

/**
 * Keeps everybody out and keeps the data; they stay closed. Killed, it is begun again from its beginning.
 * @throws UpdateError data-busy, save-failed, no-space
 */
export async function keepPoint(given: Point, place: PointPlace, work: DataWork): Promise<Point> {
  const { entries } = given;
  for (const { kind, source } of entries) await kindOf(kind).close(source, work);
  let point: Point = { ...given, at: new Date().toISOString() };
  const report = reporter(point, work);
  for (const [index, { kind, source }] of entries.entries()) {
    const part = await kindOf(kind).save(source, place, report(index));
    point = withPart(point, index, part);
    await writePoint(place, point);
  }
  await disk.write(join(place.here, reserveName), Buffer.alloc(reserveBytes), null, 0o600).catch(() => {});
  return writePoint(place, point);
}

/** Makes room for what the way back writes first. */
export const giveReserve = ({ here }: PointPlace): Promise<void> =>
  disk.remove(join(here, reserveName)).catch(() => {});

/** Lets in again who was kept out. */
export async function openPoint({ entries }: Point, work: DataWork): Promise<void> {
  for (const { kind, source } of entries) await kindOf(kind).open(source, work);
}

/** Takes away what was kept, and the record last: what is left half taken away is found by it. */
export async function discardPoint(point: Point, place: PointPlace, work: DataWork): Promise<void> {
  for (const { kind, source, part } of point.entries) await kindOf(kind).discard(source, part, place, work);
  await releaseImages(work.engine, work.project, place, imagesOf(point));
  await removePlace(place);
}

/** The images of the version that runs again on these data. */
export const imagesOf = ({ back }: Point): string[] => (back?.blueprints ?? []).map(({ imageId }) => imageId);

/** Takes all points away but these. What has no record that can be read stays, and is told. */
export async function discardOthers(
  directory: string,
  project: { directory: string },
  spared: readonly string[],
  work: DataWork,
): Promise<void> {
  const places = await placesIn(directory, project);
  for (const place of places.filter(({ host }) => !spared.includes(host))) {
    try {
      const point = await readPoint(place);
      if (point === null) await removePlace(place);
      else await discardPoint(point, place, work);
    } catch (error) {
      if (!(error instanceof UpdateError)) throw error;
      work.log.warn(`the restore point in ${place.host} could not be removed: ${error.message}`);
    }
  }
}

/** Whether all of it is there and as it was kept. @throws UpdateError no-point, point-damaged, data-unfit */
export async function checkPoint(point: Point, place: PointPlace, work: DataWork): Promise<void> {
  if (!isWhole(point)) throw new UpdateError('no-point', `the restore point in ${place.here} is not whole`);
  for (const { kind, source, part } of point.entries) await kindOf(kind).check(source, part, place, work);
}

/**
 * Keeps the data that make room for older ones, as far as there is room where `isForced`: what cannot be kept is said, and
 * lost. What an earlier call has kept is left: the data of now may be half of one version, half of the other.
 * @throws UpdateError save-failed, no-space
 */
export async function keepPresent(
  given: Point,
  place: PointPlace,
  work: DataWork,
  { isForced }: { isForced: boolean },
): Promise<Point> {
  let point: Point = { ...given, at: given.at ?? new Date().toISOString() };
  const report = reporter(point, work);
  for (const [index, { kind, source, part, isLost, words }] of given.entries.entries()) {
    if (part !== null || isLost) continue;
    try {
      point = withPart(point, index, await kindOf(kind).keep(source, place, report(index)));
    } catch (error) {
      const isFull = error instanceof UpdateError && ['no-space', 'save-failed'].includes(error.code);
      if (!isForced || !isFull) throw error;
      work.log.warn(`${words}: what ${given.version} did cannot be kept: ${error.message}`);
      await kindOf(kind)
        .discard(source, null, place, work)
        .catch(() => {});
      const entries = point.entries.map((each, at) =>
        at === index ? { ...each, isLost: true as const } : each,
      );
      point = { ...point, entries };
    }
    await writePoint(place, point);
  }
  return writePoint(place, point);
}

/** Puts all data of a point in the place of those that were kept; what is back already stays. @throws UpdateError data-not-back */
export async function restorePoint(
  { point, place }: { point: Point; place: PointPlace },
  kept: Point,
  work: DataWork,
): Promise<void> {
  const report = reporter(point, work);
  for (const [index, { kind, source, part }] of point.entries.entries()) {
    await kindOf(kind).restore(source, part, kept.entries[index]?.part ?? null, place, report(index));
  }
}

const withPart = (point: Point, index: number, part: unknown): Point => ({
  ...point,
  entries: point.entries.map((each, at) => (at === index ? { ...each, part } : each)),
});

/** The doors of a kind, with a line a second at most of how far all of it is. */
function reporter({ entries }: Point, work: DataWork): (index: number) => DataWork {
  const total = bytesOf({ entries });
  let toldAt = performance.now();
  return (index) => ({
    ...work,
    onProgress: (bytes) => {
      if (total === 0 || performance.now() < toldAt + progressEveryMs) return;
      toldAt = performance.now();
      const before = bytesOf({ entries: entries.slice(0, index) });
      const done = Math.min(before + bytes, total);
      const percent = Math.min(Math.floor((100 * done) / total), 99);
      work.log.progress(percent, `${size(done)} of ${size(total)}`, { bytes: done, total });
    },
  });
}
