import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod/mini';
import { formatMountFlags } from '../../core/errors/advice.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import {
  diskFileSystem,
  isExistingPath,
  isMissingFileError,
  replaceFileSafely,
} from '../../core/files/file-system.ts';
import { type HostPaths, isWithin } from '../../core/mounts/host-paths.ts';
import { journalSchema } from '../run/state/journal-schema.ts';
import { formatRunName, runNamePattern } from '../run/state/run-names.ts';
import { requireRootOwned, restorePointsPath } from '../run/state/state-directory.ts';
import { storedFieldSchemas } from '../run/state/stored-fields.ts';
import type { RestorePointLocation } from './data-context.ts';
import { runProgram } from './helper-program/rsync.ts';

const { like, list } = storedFieldSchemas;
const text = z.string();
const relative = text.check(z.refine((path) => !/(?:^|\/)\.\.?(?:\/|$)|^\/|\0/.test(path)));
const absolute = like(/^\/(?!.*\/\.{0,2}(?:\/|$))[^\0]+$/s);
const count = z.int().check(z.nonnegative());

const savedMount = z.strictObject({
  /** First covered service with this mount, whose helper container gets the mount. */
  service: text,
  /** Service and path for messages, such as `db:/var/lib/postgresql/data`. */
  where: text,
  /** Name of the volume; empty for a bind mount. */
  volume: like(/^(?:[a-zA-Z0-9][\w.-]*)?$/),
  /** Path on the host, also for a volume. */
  path: absolute,
  /** Path of the mounted directory inside the volume; empty for a whole volume or a bind mount. */
  subpath: relative,
  isFile: z.boolean(),
  root: text,
  device: text,
  excluded: list(relative),
  bytes: count,
  /** Number of bytes that were read, including holes; absent in older records. */
  length: z.exactOptional(count),
  files: count,
  /** Whether the copy has attributes named `user.rsync.%…`; absent in older records, whose copies have none. */
  hasRsyncAttributes: z.exactOptional(z.boolean()),
});
/** Mount whose contents are saved in a restore point. */
export type SavedMount = z.infer<typeof savedMount>;

const pointSchema = z.strictObject({
  format: z.literal(2),
  /**
   * Kind of the data: `update` is the data before an update. `current` is the data that a rollback replaced, saved for
   * manual recovery; no command rolls back to it.
   */
  kind: z.enum(['update', 'current']),
  project: text,
  /** Compose directory. */
  directory: text,
  run: storedFieldSchemas.run,
  /** ISO 8601 time at which the copy was complete and no process had written to the data since; null until then. */
  at: z.nullable(text.check(z.refine((value) => !Number.isNaN(Date.parse(value))))),
  /** Version that used the data, such as `v1.4.2`; `next` is the version after that. */
  version: text,
  next: text,
  /** Covered services that the update does not replace, in start order. */
  services: list(text),
  /** Dependencies that keep a queue or cache only in memory. They are restarted after a rollback. */
  inMemory: list(text),
  mounts: list(savedMount),
  /** Hash of each mount's copy; null until the hashes are computed. */
  hashes: z.nullable(list(storedFieldSchemas.hash)),
  /** Ids of the images of covered services, protected by tags while the restore point exists. */
  images: list(storedFieldSchemas.imageId),
  /** Hashes of compose and env files after the update; empty until the update has written them. */
  fileHashes: list(z.strictObject({ path: text, sha256: z.nullable(text) })),
  /** Services, mounts and hosts whose data is not in the restore point, for messages. */
  excluded: list(text),
  bytes: count,
  /** Downtime of the app in seconds that was caused by creating the restore point. */
  downtimeSeconds: z.nullable(z.number().check(z.nonnegative())),
  /** Journal of the run that a rollback undoes; null while that run is in progress. */
  back: z.nullable(journalSchema),
});

/** Restore point: a copy of the data at one moment, with everything required to run its version on the data again. */
export interface SavedRestorePoint extends z.infer<typeof pointSchema> {}

const recordName = 'point.json';
/**
 * Name of the file that marks a restore point as used by a rollback. The mark is not in the record, because a complete
 * record never changes.
 */
const usedName = 'used';

/**
 * Returns the host directory of a project's restore points.
 * @param restoreDir path inside this container; null for the default
 * @throws UpdateError outside-mounts
 */
export function findRestorePointsDirectory(
  restoreDir: string | null,
  paths: HostPaths,
  project: { directory: string },
): string {
  if (restoreDir === null) return restorePointsPath(project.directory);
  const host = paths.toHost(restoreDir);
  if (host !== null) return host;
  const message = `the directory ${restoreDir} (--restore-dir) is not inside a host directory that is mounted into this container`;
  throw new UpdateError('outside-mounts', message, { advice: `Add ${formatMountFlags(restoreDir)}.` });
}

/** Project that restore points belong to. */
export interface RestorePointOwner {
  name: string;
  directory: string;
}

/**
 * Returns the prefix of the names of a project's restore points, which consists of the project name and a hash of the
 * project directory, because several projects may share a restore directory. Empty for the default directory.
 */
function prefixIn(directory: string, project: RestorePointOwner): string {
  if (directory === restorePointsPath(project.directory)) return '';
  const hash = createHash('sha256').update(project.directory).digest('hex').slice(0, 12);
  return `${project.name}-${hash}-`;
}

export const restorePointLocation = (
  directory: string,
  project: { directory: string },
): RestorePointLocation => ({
  directory,
  isElsewhere: !isWithin(directory, restorePointsPath(project.directory)),
});

/**
 * Creates the directory of a new restore point, accessible only to root. @throws UpdateError save-failed,
 * unexpected-file
 */
export async function createRestorePointDirectory(
  directory: string,
  project: RestorePointOwner,
  at: number,
): Promise<RestorePointLocation> {
  try {
    await mkdir(directory, { mode: 0o700 }).catch(unlessThere);
    // If another run has created the same directory in this second, the name gets a later second.
    for (let second = 0; ; second++) {
      const name = `${prefixIn(directory, project)}${formatRunName(at + second * 1000)}`;
      const place = restorePointLocation(join(directory, name), project);
      const isNew = await mkdir(place.directory, { mode: 0o700 }).then(() => true, unlessThere);
      if (!isNew) continue;
      await refuseForeignPlace(place);
      await diskFileSystem.sync(directory);
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

/** Writes the record of a restore point to the disk and syncs it. @throws UpdateError save-failed */
export async function writeRestorePoint(
  { directory }: RestorePointLocation,
  point: SavedRestorePoint,
): Promise<SavedRestorePoint> {
  const path = join(directory, recordName);
  try {
    const record = JSON.stringify({ sha256: checksumOf(point), point }, null, 1);
    await replaceFileSafely(diskFileSystem, path, `${record}\n`, { mode: 0o600 });
    return point;
  } catch (cause) {
    throw new UpdateError('save-failed', `${path} cannot be written: ${(cause as Error).message}`, { cause });
  }
}

const checksumOf = (point: unknown): string =>
  createHash('sha256').update(JSON.stringify(point)).digest('hex');

async function refuseForeignPlace({ directory, isElsewhere }: RestorePointLocation): Promise<void> {
  if (!isElsewhere) await requireRootOwned(dirname(directory));
  await requireRootOwned(directory);
}

/**
 * Reads the record of a restore point; null if there is none. @throws UpdateError restore-point-damaged,
 * restore-point-unreadable, unexpected-file
 */
export async function readRestorePoint(place: RestorePointLocation): Promise<SavedRestorePoint | null> {
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

async function textOf(place: RestorePointLocation, path: string): Promise<string | null> {
  await refuseForeignPlace(place);
  await requireRootOwned(path);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error) => {
    if (isMissingFileError(error)) return null;
    throw error;
  });
  if (file === null) return null;
  try {
    // Check the open file itself, because the path may have been replaced since.
    await requireRootOwned(path, await file.stat());
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Returns the restore point in a record; null if the record's checksum does not match. */
function intactPoint(record: string): unknown {
  try {
    const { sha256, point } = JSON.parse(record);
    return sha256 === checksumOf(point) ? point : null;
  } catch {
    return null;
  }
}

/** Checks whether the copy of the data is complete, even if its hashes are not computed yet. */
export const isComplete = (point: SavedRestorePoint): point is SavedRestorePoint & { at: string } =>
  point.at !== null;

/**
 * Returns the directories of the project's restore points, newest first. Ignores restore points of other projects in
 * the same directory.
 */
export async function findRestorePoints(
  directory: string,
  project: RestorePointOwner,
): Promise<RestorePointLocation[]> {
  const prefix = prefixIn(directory, project);
  const names: string[] = await readdir(directory).catch((error) => {
    if (isMissingFileError(error)) return [];
    throw error;
  });
  const places = names
    .filter((name) => name.startsWith(prefix) && runNamePattern.test(name.slice(prefix.length)))
    .toSorted()
    .toReversed()
    .map((name) => restorePointLocation(join(directory, name), project));
  const own = await Promise.all(places.map((place) => isOf(place, project)));
  return places.filter((_, at) => own[at]);
}

/**
 * Checks whether a restore point belongs to the project, because two projects may share a compose directory. A record
 * that cannot be read counts as the project's own.
 */
async function isOf(place: RestorePointLocation, project: RestorePointOwner): Promise<boolean> {
  const point = await readRestorePoint(place).catch(() => null);
  return point === null || (point.project === project.name && point.directory === project.directory);
}

/**
 * Removes a restore point with `rm`, because Node's own removal misses names that are not UTF-8. @throws UpdateError
 * write-failed
 */
export async function removeRestorePointDirectory({ directory }: RestorePointLocation): Promise<void> {
  const { code, errors } = await runProgram('rm', ['-rf', '--', directory]);
  if (code === 0) return;
  throw new UpdateError('write-failed', `${directory} cannot be removed: ${errors.at(-1)}`);
}

export const markUsed = ({ directory }: RestorePointLocation): Promise<void> =>
  replaceFileSafely(diskFileSystem, join(directory, usedName), '', { mode: 0o600 });
export const isUsed = ({ directory }: RestorePointLocation): Promise<boolean> =>
  isExistingPath(join(directory, usedName));

/** Returns the log fields of a restore point. */
export const loggedFieldsOf = ({ at, version, bytes, downtimeSeconds }: SavedRestorePoint) => ({
  at,
  version,
  bytes,
  downtimeSeconds,
});

/** Returns the name of a restore point's directory, as used in labels and tags. */
export const restorePointName = ({ directory }: RestorePointLocation): string =>
  basename(directory).toLowerCase();

/** Describes a restore point: `the restore point of v1.4.2, saved at 2026-11-21 10:42:15 UTC`. */
export const formatRestorePoint = ({
  kind,
  version,
  at,
}: Pick<SavedRestorePoint, 'kind' | 'version' | 'at'>): string => {
  const what = kind === 'current' ? 'the pre-rollback data' : 'the restore point';
  return at === null ? what : `${what} of ${version}, saved at ${formatRestorePointTime({ at })}`;
};

/** Formats the time of a restore point: `2026-11-21 10:42:15 UTC`. */
export const formatRestorePointTime = ({ at }: Pick<SavedRestorePoint, 'at'>): string =>
  `${(at ?? '').slice(0, 19).replace('T', ' ')} UTC`;
