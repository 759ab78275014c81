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
  replaceFileSafely,
  tolerateMissingFile,
} from '../../core/files/file-system.ts';
import { type HostPaths, isWithin } from '../../core/mounts/host-paths.ts';
import { journalSchema } from '../run/state/journal-schema.ts';
import { formatRunName, runNamePattern } from '../run/state/run-names.ts';
import { requireRootOwnedPath, restorePointsDirectoryOf } from '../run/state/state-directory.ts';
import { storedFieldSchemas } from '../run/state/stored-fields.ts';
import type { RestorePointLocation } from './data-context.ts';
import { runProgram } from './helper-program/rsync.ts';

const { like, list } = storedFieldSchemas;
const text = z.string();
const relative = text.check(z.refine((path) => !/(?:^|\/)\.\.?(?:\/|$)|^\/|\0/.test(path)));
const absolute = like(/^\/(?!.*\/\.{0,2}(?:\/|$))[^\0]+$/s);
const count = z.int().check(z.nonnegative());

const savedMountSchema = z.strictObject({
  /** First covered service that has this mount. Its helper container gets the mount. */
  service: text,
  /** Service and path, for messages: `db:/var/lib/postgresql/data`. */
  where: text,
  /** Volume name; empty for a bind mount. */
  volume: like(/^(?:[a-zA-Z0-9][\w.-]*)?$/),
  /** Host path, even if the mount is a volume. */
  path: absolute,
  /** Path of the mounted directory inside the volume. The path is empty for a whole volume and for a bind mount. */
  subpath: relative,
  isFile: z.boolean(),
  root: text,
  device: text,
  excluded: list(relative),
  bytes: count,
  /** Bytes to read, including the holes of sparse files; absent in older records. */
  length: z.exactOptional(count),
  files: count,
  /** Whether the copy includes attributes named `user.rsync.%…`; absent in older records, whose copies lack them. */
  hasRsyncAttributes: z.exactOptional(z.boolean()),
});
export type SavedMount = z.infer<typeof savedMountSchema>;

const restorePointRecordSchema = z.strictObject({
  format: z.literal(2),
  /**
   * `update`: the data before an update. `current`: the data that a rollback replaced. `current` is for manual
   * recovery; no command restores it.
   */
  kind: z.enum(['update', 'current']),
  project: text,
  /** Compose directory. */
  directory: text,
  run: storedFieldSchemas.run,
  /**
   * ISO 8601 time at which the copy was completed; null until then. Also null while the data is copied again because a
   * container was started.
   */
  at: z.nullable(text.check(z.refine((value) => !Number.isNaN(Date.parse(value))))),
  /** Version that used the saved data, such as `v1.4.2`. `next` is the version that the run installs. */
  version: text,
  next: text,
  /** Covered services that the update does not replace, in start order. */
  services: list(text),
  /** Services that hold a queue or cache only in memory. They are restarted after a rollback. */
  inMemory: list(text),
  mounts: list(savedMountSchema),
  /** Hash of each mount's copy; null until the hashes have been computed. */
  hashes: z.nullable(list(storedFieldSchemas.hash)),
  /** Image ids of the covered services. Tags protect these images while the restore point exists. */
  images: list(storedFieldSchemas.imageId),
  /** Hashes of compose and env files after the update; empty until the update has written them. */
  fileHashes: list(z.strictObject({ path: text, sha256: z.nullable(text) })),
  /** Services, mounts and hosts whose data the restore point does not contain, for messages. */
  excluded: list(text),
  bytes: count,
  /** Downtime of the app in seconds caused by creating the restore point. */
  downtimeSeconds: z.nullable(z.number().check(z.nonnegative())),
  /** Journal of the run that a rollback undoes; null while that run is in progress. */
  back: z.nullable(journalSchema),
});

/** Record of a restore point. The restore point's directory also contains the copies of the data. */
export interface RestorePointRecordData extends z.infer<typeof restorePointRecordSchema> {}

const recordName = 'point.json';
/**
 * File that marks a restore point as used by a rollback. The mark is not in the record, because a completed record
 * never changes.
 */
const usedName = 'used';

/**
 * Returns the host directory that contains the project's restore points.
 * @param restoreDir - path inside this container; null for the default
 * @throws UpdateError outside-mounts
 */
export function resolveRestorePointsDirectory(
  restoreDir: string | null,
  paths: HostPaths,
  project: { directory: string },
): string {
  if (restoreDir === null) return restorePointsDirectoryOf(project.directory);
  const host = paths.toHost(restoreDir);
  if (host !== null) return host;
  const message = `the directory ${restoreDir} (--restore-dir) is not mounted from the host into this container`;
  throw new UpdateError('outside-mounts', message, { advice: `Add ${formatMountFlags(restoreDir)}.` });
}

export interface RestorePointProject {
  name: string;
  directory: string;
}

/**
 * Returns the name prefix of a project's restore points. The prefix is needed because projects may share a restore
 * directory. It is empty in the default directory.
 */
function restorePointPrefixOf(directory: string, project: RestorePointProject): string {
  if (directory === restorePointsDirectoryOf(project.directory)) return '';
  const hash = createHash('sha256').update(project.directory).digest('hex').slice(0, 12);
  return `${project.name}-${hash}-`;
}

export const restorePointLocationOf = (
  directory: string,
  project: { directory: string },
): RestorePointLocation => ({
  directory,
  isOutsideStateDirectory: !isWithin(directory, restorePointsDirectoryOf(project.directory)),
});

/** Only root can access the new directory. @throws UpdateError save-failed, unexpected-file */
export async function createRestorePointDirectory(
  directory: string,
  project: RestorePointProject,
  at: number,
): Promise<RestorePointLocation> {
  try {
    await mkdir(directory, { mode: 0o700 }).catch(ignoreExistingDirectory);
    // If another run has already created this directory in the same second, try the next second.
    for (let second = 0; ; second++) {
      const name = `${restorePointPrefixOf(directory, project)}${formatRunName(at + second * 1000)}`;
      const location = restorePointLocationOf(join(directory, name), project);
      const isNew = await mkdir(location.directory, { mode: 0o700 }).then(
        () => true,
        ignoreExistingDirectory,
      );
      if (!isNew) continue;
      await requireRootOwnedLocation(location);
      await diskFileSystem.sync(directory);
      return location;
    }
  } catch (cause) {
    if (cause instanceof UpdateError) throw cause;
    const message = `no restore point can be created in ${directory}: ${(cause as Error).message}`;
    throw new UpdateError('save-failed', message, { cause });
  }
}

function ignoreExistingDirectory(error: NodeJS.ErrnoException): false {
  if (error.code !== 'EEXIST') throw error;
  return false;
}

/** Writes and syncs the record. @throws UpdateError save-failed */
export async function writeRestorePointRecord(
  { directory }: RestorePointLocation,
  point: RestorePointRecordData,
): Promise<RestorePointRecordData> {
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

async function requireRootOwnedLocation({
  directory,
  isOutsideStateDirectory: isElsewhere,
}: RestorePointLocation): Promise<void> {
  if (!isElsewhere) await requireRootOwnedPath(dirname(directory));
  await requireRootOwnedPath(directory);
}

/**
 * Reads the record of a restore point; null if there is no record. @throws UpdateError restore-point-damaged,
 * restore-point-unreadable, unexpected-file
 */
export async function readRestorePointRecord(
  location: RestorePointLocation,
): Promise<RestorePointRecordData | null> {
  const path = join(location.directory, recordName);
  const record = await readRecordText(location, path).catch((cause) => {
    if (cause instanceof UpdateError) throw cause;
    const message = `${path} cannot be read: ${(cause as Error).message}`;
    throw new UpdateError('restore-point-unreadable', message, { cause });
  });
  if (record === null) return null;
  const found = parseIntactRecord(record);
  const { data: point } = restorePointRecordSchema.safeParse(found);
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

async function readRecordText(location: RestorePointLocation, path: string): Promise<string | null> {
  await requireRootOwnedLocation(location);
  await requireRootOwnedPath(path);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(tolerateMissingFile);
  if (file === null) return null;
  try {
    // Check the opened file too, because the file may have been replaced after the path was checked.
    await requireRootOwnedPath(path, await file.stat());
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Parses a record; null if it is not JSON or does not match its checksum. */
function parseIntactRecord(record: string): unknown {
  try {
    const { sha256, point } = JSON.parse(record);
    return sha256 === checksumOf(point) ? point : null;
  } catch {
    return null;
  }
}

/** Whether the copy of the data is complete. Its hashes may still be missing. */
export const isCompleteRestorePoint = (
  point: RestorePointRecordData,
): point is RestorePointRecordData & { at: string } => point.at !== null;

/** Lists the project's restore points, newest first. Ignores restore points of other projects in the same directory. */
export async function findRestorePoints(
  directory: string,
  project: RestorePointProject,
): Promise<RestorePointLocation[]> {
  const prefix = restorePointPrefixOf(directory, project);
  const names = (await readdir(directory).catch(tolerateMissingFile)) ?? [];
  const places = names
    .filter((name) => name.startsWith(prefix) && runNamePattern.test(name.slice(prefix.length)))
    .toSorted()
    .toReversed()
    .map((name) => restorePointLocationOf(join(directory, name), project));
  const own = await Promise.all(places.map((location) => isOfProject(location, project)));
  return places.filter((_, at) => own[at]);
}

/**
 * Whether a restore point belongs to the given project: two projects may share a compose directory. Also true if the
 * record is missing or unreadable.
 */
async function isOfProject(location: RestorePointLocation, project: RestorePointProject): Promise<boolean> {
  const point = await readRestorePointRecord(location).catch(() => null);
  return point === null || (point.project === project.name && point.directory === project.directory);
}

/**
 * Runs the command `rm`, because Node's recursive removal misses files whose names are not UTF-8. @throws UpdateError
 * write-failed
 */
export async function removeRestorePointDirectory({ directory }: RestorePointLocation): Promise<void> {
  const { code, errors } = await runProgram('rm', ['-rf', '--', directory]);
  if (code === 0) return;
  throw new UpdateError('write-failed', `${directory} cannot be removed: ${errors.at(-1)}`);
}

export const markRestorePointUsed = ({ directory }: RestorePointLocation): Promise<void> =>
  replaceFileSafely(diskFileSystem, join(directory, usedName), '', { mode: 0o600 });
export const isUsedRestorePoint = ({ directory }: RestorePointLocation): Promise<boolean> =>
  isExistingPath(join(directory, usedName));

/** Returns the directory name of a restore point in lower case, as used in labels and tags. */
export const restorePointNameOf = ({ directory }: RestorePointLocation): string =>
  basename(directory).toLowerCase();

/** Describes a restore point: `the restore point of v1.4.2, saved at 2026-11-21 10:42:15 UTC`. */
export const formatRestorePoint = ({
  kind,
  version,
  at,
}: Pick<RestorePointRecordData, 'kind' | 'version' | 'at'>): string => {
  const what = kind === 'current' ? 'the pre-rollback data' : 'the restore point';
  return at === null ? what : `${what} of ${version}, saved at ${formatRestorePointTime({ at })}`;
};

/** Example: `2026-11-21 10:42:15 UTC`. */
export const formatRestorePointTime = ({ at }: Pick<RestorePointRecordData, 'at'>): string =>
  `${(at ?? '').slice(0, 19).replace('T', ' ')} UTC`;
