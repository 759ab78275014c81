import { constants } from 'node:fs';
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { disk, isGone, writeWhole } from '../../files/file-system.ts';
import { type HostPaths, isWithin } from '../../files/host-paths.ts';
import { mountFlags } from '../../progress/advice.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { isJournal, type JournalData } from '../state/journal-shape.ts';
import { runForm } from '../state/kept-runs.ts';
import { pointsOf, refuseUnlessRoots } from '../state/state-directory.ts';
import type { PointPlace } from './kind.ts';
import { isKindName, type KindName, kindOf } from './kinds.ts';

/** Data of one kind in a restore point. */
export interface PointEntry {
  kind: KindName;
  /** As the survey found it. */
  source: unknown;
  /** What was kept; null as long as it was not. */
  part: unknown;
  /** There was no room to keep it. */
  isLost?: true;
  /** For people: `db (postgres, 325 MB)`. */
  words: string;
  /** Of the data, when they were looked at. */
  bytes: number;
}

/** A restore point: the data of one moment, and what it takes to have its version run on them again. Plain JSON. */
export interface Point {
  format: 1;
  /** When nobody wrote any more, ISO 8601; null as long as somebody may. */
  at: string | null;
  /** What ran on them, `v1.4.2`. */
  version: string;
  /** What came after it, `v1.5.0`. */
  next: string;
  entries: readonly PointEntry[];
  /** Services whose data are in no point. */
  left: readonly string[];
  /**
   * The run after which it is gone back, as its journal would say: files and containers of then, by which they come again.
   * Null as long as the run goes on, whose journal says it.
   */
  back: JournalData | null;
}

const recordName = 'point.json';

/**
 * Where the points of a project lie, as the host has it.
 * @param restoreDir where somebody wants them, as it is mounted here
 * @throws UpdateError outside-mounts
 */
export function pointsDirectory(
  restoreDir: string | null,
  paths: HostPaths,
  project: { directory: string },
): string {
  if (restoreDir === null) return pointsOf(project.directory);
  const host = paths.toHost(restoreDir);
  if (host !== null) return host;
  const message = `--restore-dir ${restoreDir} is not a directory of the host that is mounted here`;
  throw new UpdateError('outside-mounts', message, { advice: `Add ${mountFlags(restoreDir)}.` });
}

/** @param host the directory as the engine mounts it, and as it was given to this container */
export const placeOf = (host: string, project: { directory: string }): PointPlace => ({
  name: basename(host).toLowerCase(),
  here: host,
  host,
  isElsewhere: !isWithin(host, pointsOf(project.directory)),
});

/** Makes the directory, for root alone. @throws UpdateError save-failed, foreign-state */
export async function openPlace(place: PointPlace): Promise<void> {
  const { here } = place;
  try {
    for (const path of [dirname(here), here]) {
      await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
    }
    await refuseForeignPlace(place);
    await disk.sync(dirname(here));
  } catch (cause) {
    if (cause instanceof UpdateError) throw cause;
    throw new UpdateError('save-failed', `${here} cannot be made: ${(cause as Error).message}`, { cause });
  }
}

/** On the disk when it resolves. @throws UpdateError save-failed */
export async function writePoint({ here }: PointPlace, point: Point): Promise<Point> {
  try {
    await writeWhole(disk, join(here, recordName), `${JSON.stringify(point, null, 1)}\n`, { mode: 0o600 });
    return point;
  } catch (cause) {
    const message = `${here}/${recordName} cannot be written: ${(cause as Error).message}`;
    throw new UpdateError('save-failed', message, { cause });
  }
}

/** Whether somebody else may have put it there; whose a directory is that was named for it is not asked. */
async function refuseForeignPlace({ here, isElsewhere }: PointPlace): Promise<void> {
  if (!isElsewhere) await refuseUnlessRoots(dirname(here));
  await refuseUnlessRoots(here);
}

/** Null where there is none. @throws UpdateError point-damaged, foreign-state */
export async function readPoint(place: PointPlace): Promise<Point | null> {
  const { here } = place;
  await refuseForeignPlace(place);
  const path = join(here, recordName);
  await refuseUnlessRoots(path);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error) => {
    if (isGone(error)) return null;
    throw error;
  });
  if (file === null) return null;
  // Whatever was put in its place since it was looked at: what is read is root's.
  const read = async () => {
    await refuseUnlessRoots(path, await file.stat());
    return file.readFile('utf8');
  };
  const point = parsed(await read().finally(() => file.close()));
  if (point !== null) return point;
  throw new UpdateError('point-damaged', `${here}/${recordName} is not what the updater has written there`);
}

function parsed(text: string): Point | null {
  try {
    const value: unknown = JSON.parse(text);
    return isPoint(value) ? value : null;
  } catch {
    return null;
  }
}

function isPoint(value: unknown): value is Point {
  const { format, at, version, next, entries, left, back } = Object(value) as Record<string, unknown>;
  return (
    format === 1 &&
    (at === null || (typeof at === 'string' && !Number.isNaN(Date.parse(at)))) &&
    [version, next].every((each) => typeof each === 'string') &&
    Array.isArray(entries) &&
    entries.every(isEntry) &&
    Array.isArray(left) &&
    left.every((each) => typeof each === 'string') &&
    (back === null || isJournal(back))
  );
}

function isEntry(value: unknown): value is PointEntry {
  const { kind: name, source, part, isLost, words, bytes } = Object(value) as Record<string, unknown>;
  if (!isKindName(name) || typeof words !== 'string' || typeof bytes !== 'number') return false;
  if (isLost !== undefined && isLost !== true) return false;
  const kind = kindOf(name);
  return kind.isSource(source) && (part === null || kind.isPart(part));
}

/** Every part of it was kept. */
export const isWhole = ({ at, entries }: Point): boolean =>
  at !== null && entries.every(({ part }) => part !== null);

/** The places of all points below a directory, the newest first. A folder of another name is somebody's. */
export async function placesIn(directory: string, project: { directory: string }): Promise<PointPlace[]> {
  const names: string[] = await readdir(directory).catch((error) => {
    if (isGone(error)) return [];
    throw error;
  });
  return names
    .filter((name) => runForm.test(name))
    .toSorted()
    .toReversed()
    .map((name) => placeOf(join(directory, name), project));
}

export const removePlace = ({ here }: PointPlace): Promise<void> =>
  rm(here, { recursive: true, force: true });

/** Of all data that it holds, as they were looked at. */
export const bytesOf = ({ entries }: Pick<Point, 'entries'>): number =>
  entries.reduce((sum, { bytes }) => sum + bytes, 0);

/** What the log tells programs of it. */
export const toldOf = (point: Point) => ({ at: point.at, version: point.version, bytes: bytesOf(point) });

/** As people write it, in UTC: `10:42:15`. */
export const clockTime = (at: string): string => at.slice(11, 19);
