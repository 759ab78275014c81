import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod/mini';
import { disk, exists, isGone, writeWhole } from '../../core/files/file-system.ts';
import { type HostPaths, isWithin } from '../../core/files/host-paths.ts';
import { mountFlags } from '../../core/progress/advice.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { journalSchema } from '../run/state/journal-shape.ts';
import { runForm, runStamp } from '../run/state/kept-runs.ts';
import { pointsOf, refuseUnlessRoots } from '../run/state/state-directory.ts';
import { stored } from '../run/state/stored-fields.ts';
import type { PointPlace } from './data-doors.ts';
import { run } from './rsync.ts';

const { like, list } = stored;
const text = z.string();
const relative = text.check(z.refine((path) => !/(?:^|\/)\.\.?(?:\/|$)|^\/|\0/.test(path)));
const absolute = like(/^\/(?!.*\/\.{0,2}(?:\/|$))[^\0]+$/s);
const count = z.int().check(z.nonnegative());

const savedMount = z.strictObject({
  /** The first covered service that has it; its tools container gets it. */
  service: text,
  /** For people: `db:/var/lib/postgresql/data`. */
  where: text,
  /** The volume's name; empty for a bind mount. */
  volume: like(/^(?:[a-zA-Z0-9][\w.-]*)?$/),
  /** On the host; a volume's, too. */
  path: absolute,
  /** Of a volume: the folder in it that is mounted, else empty. */
  subpath: relative,
  isFile: z.boolean(),
  root: text,
  device: text,
  excluded: list(relative),
  bytes: count,
  /** Bytes that were read, holes included; absent in older records. */
  length: z.exactOptional(count),
  files: count,
  /** Whether the copy has attributes named `user.rsync.%…`; absent in older records, whose copies have none. */
  hasRsyncAttributes: z.exactOptional(z.boolean()),
});
/** A mount whose content a restore point holds. */
export type SavedMount = z.infer<typeof savedMount>;

const pointSchema = z.strictObject({
  format: z.literal(2),
  /** `current`: the data that a rollback replaced, saved for manual recovery. No command rolls back to it. */
  kind: z.enum(['update', 'current']),
  project: text,
  /** The compose directory. */
  directory: text,
  run: stored.run,
  /** When the copy was complete and nothing had written since, ISO 8601; null until then. */
  at: z.nullable(text.check(z.refine((value) => !Number.isNaN(Date.parse(value))))),
  /** The version that ran on the data, `v1.4.2`, and the version that came after it. */
  version: text,
  next: text,
  /** Covered services that the update does not replace, in the order in which they start. */
  services: list(text),
  /** Dependencies that keep a queue or cache only in memory: restarted after a rollback. */
  inMemory: list(text),
  mounts: list(savedMount),
  /** Of each mount's copy; null until they are computed. */
  hashes: z.nullable(list(stored.hash)),
  /** Of the covered services: protected by a tag while the restore point exists. */
  images: list(stored.imageId),
  /** Compose and env files as the update left them; empty until it has written them. */
  fileHashes: list(z.strictObject({ path: text, sha256: z.nullable(text) })),
  /** For people: services, mounts and hosts whose data is not in it. */
  excluded: list(text),
  bytes: count,
  /** How long the app was unavailable for it. */
  downtimeSeconds: z.nullable(z.number().check(z.nonnegative())),
  /** The run that a rollback undoes, in the form of its journal; null while that run is in progress. */
  back: z.nullable(journalSchema),
});

/** A restore point: a copy of the data of one moment, and what it takes to run its version on it again. */
export interface Point extends z.infer<typeof pointSchema> {}

const recordName = 'point.json';
/** Beside the record, which never changes once it is complete: a rollback has used this point. */
const usedName = 'used';

/**
 * The directory of a project's restore points, as the host has it.
 * @param restoreDir as it is mounted here; null for the default
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
  const message = `the directory ${restoreDir} (--restore-dir) is not inside a host directory that is mounted into this container`;
  throw new UpdateError('outside-mounts', message, { advice: `Add ${mountFlags(restoreDir)}.` });
}

/** The project of restore points. */
export interface PointOwner {
  name: string;
  directory: string;
}

/** In a directory that several projects may share, a folder is named after project, directory and run. */
function prefixIn(directory: string, project: PointOwner): string {
  if (directory === pointsOf(project.directory)) return '';
  const hash = createHash('sha256').update(project.directory).digest('hex').slice(0, 12);
  return `${project.name}-${hash}-`;
}

export const pointPlace = (directory: string, project: { directory: string }): PointPlace => ({
  directory,
  isElsewhere: !isWithin(directory, pointsOf(project.directory)),
});

/** A new folder for a restore point, for root alone. @throws UpdateError save-failed, unexpected-file */
export async function makePlace(directory: string, project: PointOwner, at: number): Promise<PointPlace> {
  try {
    await mkdir(directory, { mode: 0o700 }).catch(unlessThere);
    // Two runs in one second do not share a folder.
    for (let second = 0; ; second++) {
      const name = `${prefixIn(directory, project)}${runStamp(at + second * 1000)}`;
      const place = pointPlace(join(directory, name), project);
      const isNew = await mkdir(place.directory, { mode: 0o700 }).then(() => true, unlessThere);
      if (!isNew) continue;
      await refuseForeignPlace(place);
      await disk.sync(directory);
      return place;
    }
  } catch (cause) {
    if (cause instanceof UpdateError) throw cause;
    const message = `no restore point can be created in ${directory}: ${(cause as Error).message}`;
    throw new UpdateError('save-failed', message, { cause });
  }
}

function unlessThere(error: NodeJS.ErrnoException): false {
  if (error.code !== 'EEXIST') throw error;
  return false;
}

/** On the disk when it resolves. @throws UpdateError save-failed */
export async function writePoint({ directory }: PointPlace, point: Point): Promise<Point> {
  const path = join(directory, recordName);
  try {
    const record = JSON.stringify({ sha256: checksumOf(point), point }, null, 1);
    await writeWhole(disk, path, `${record}\n`, { mode: 0o600 });
    return point;
  } catch (cause) {
    throw new UpdateError('save-failed', `${path} cannot be written: ${(cause as Error).message}`, { cause });
  }
}

const checksumOf = (point: unknown): string =>
  createHash('sha256').update(JSON.stringify(point)).digest('hex');

async function refuseForeignPlace({ directory, isElsewhere }: PointPlace): Promise<void> {
  if (!isElsewhere) await refuseUnlessRoots(dirname(directory));
  await refuseUnlessRoots(directory);
}

/** Null if there is none. @throws UpdateError restore-point-damaged, restore-point-unreadable, unexpected-file */
export async function readPoint(place: PointPlace): Promise<Point | null> {
  const path = join(place.directory, recordName);
  const record = await textOf(place, path).catch((cause) => {
    if (cause instanceof UpdateError) throw cause;
    const message = `${path} cannot be read: ${(cause as Error).message}`;
    throw new UpdateError('restore-point-unreadable', message, { cause });
  });
  if (record === null) return null;
  const found = intactPoint(record);
  const { data: point } = pointSchema.safeParse(found);
  if (point) return point;
  if (![undefined, 2].includes(Object(found).format))
    throw new UpdateError(
      'restore-point-unreadable',
      `${path} was written by another version of the updater`,
      { advice: 'Run the command again with the version of the updater that saved the data.' },
    );
  throw new UpdateError(
    'restore-point-damaged',
    `${path} is damaged or was changed: its checksum does not match`,
  );
}

async function textOf(place: PointPlace, path: string): Promise<string | null> {
  await refuseForeignPlace(place);
  await refuseUnlessRoots(path);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error) => {
    if (isGone(error)) return null;
    throw error;
  });
  if (file === null) return null;
  try {
    // The open file itself, whatever has taken its place since.
    await refuseUnlessRoots(path, await file.stat());
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Null if it does not match its checksum. */
function intactPoint(record: string): unknown {
  try {
    const { sha256, point } = JSON.parse(record);
    return sha256 === checksumOf(point) ? point : null;
  } catch {
    return null;
  }
}

/** A complete copy, whether or not its hashes are computed yet. */
export const isComplete = (point: Point): point is Point & { at: string } => point.at !== null;

/**
 * The folders of the project's restore points, the newest first. Another project may have points in the same directory:
 * those are left alone.
 */
export async function placesIn(directory: string, project: PointOwner): Promise<PointPlace[]> {
  const prefix = prefixIn(directory, project);
  const names: string[] = await readdir(directory).catch((error) => {
    if (isGone(error)) return [];
    throw error;
  });
  const places = names
    .filter((name) => name.startsWith(prefix) && runForm.test(name.slice(prefix.length)))
    .toSorted()
    .toReversed()
    .map((name) => pointPlace(join(directory, name), project));
  const own = await Promise.all(places.map((place) => isOf(place, project)));
  return places.filter((_, at) => own[at]);
}

/** Two projects may share a compose directory. A record that cannot be read counts as the project's own. */
async function isOf(place: PointPlace, project: PointOwner): Promise<boolean> {
  const point = await readPoint(place).catch(() => null);
  return point === null || (point.project === project.name && point.directory === project.directory);
}

/** By a command: Node's own removal misses names that are not UTF-8. @throws UpdateError write-failed */
export async function removePlace({ directory }: PointPlace): Promise<void> {
  const { code, errors } = await run('rm', ['-rf', '--', directory]);
  if (code === 0) return;
  throw new UpdateError('write-failed', `${directory} cannot be removed: ${errors.at(-1)}`);
}

export const markUsed = ({ directory }: PointPlace): Promise<void> =>
  writeWhole(disk, join(directory, usedName), '', { mode: 0o600 });
export const isUsed = ({ directory }: PointPlace): Promise<boolean> => exists(join(directory, usedName));

/** A restore point as the log reports it to programs. */
export const toldOf = ({ at, version, bytes, downtimeSeconds }: Point) => ({
  at,
  version,
  bytes,
  downtimeSeconds,
});

/** The name of a restore point's folder, as labels and tags have it. */
export const pointName = ({ directory }: PointPlace): string => basename(directory).toLowerCase();

/** For example: the restore point of v1.4.2, saved at 2026-11-21 10:42:15 UTC. */
export const wordsOf = ({ kind, version, at }: Pick<Point, 'kind' | 'version' | 'at'>): string => {
  const what = kind === 'current' ? 'the pre-rollback data' : 'the restore point';
  return at === null ? what : `${what} of ${version}, saved at ${savedAt({ at })}`;
};

/** `2026-11-21 10:42:15 UTC` */
export const savedAt = ({ at }: Pick<Point, 'at'>): string =>
  `${(at ?? '').slice(0, 19).replace('T', ' ')} UTC`;
