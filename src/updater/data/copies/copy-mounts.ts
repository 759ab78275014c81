// Creates and restores the copies of a restore point, with one helper container per service.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ErrorCode, requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import type { Json } from '../../../engine/objects/json.ts';
import { readUserMapping } from '../../../engine/self/user-mapping.ts';
import { formatSize } from '../../run/log/format-values.ts';
import type { DataContext, RestorePointLocation } from '../data-context.ts';
import {
  dataMountPathOf,
  type HelperOperation,
  type HelperRequest,
  restorePointMountPath,
} from '../helper-program/helper-request.ts';
import type { HelperResult, MountInspection } from '../helper-program/helper-result.ts';
import type { RestorePointRecordData, SavedMount } from '../restore-point.ts';
import { retainingContainerLabelOf, retainingContainerNameOf } from '../retain-images.ts';
import { createDataHelperContainer, type HelperCall, runHelperContainer } from './run-helper-container.ts';

const progressEveryMs = 1_000;

interface ServiceMounts {
  service: string;
  mounts: readonly SavedMount[];
  /** The service's directory in the restore point. */
  folder: string;
}

/** The mounts of each service are adjacent in `mounts`, so grouping them does not change their order. */
function groupMountsByService(
  location: RestorePointLocation,
  mounts: readonly SavedMount[],
): ServiceMounts[] {
  const services = [...Map.groupBy(mounts, ({ service }) => service)];
  return services.map(([service, own], at) => ({
    service,
    mounts: own,
    folder: join(location.directory, `${at}-${service}`),
  }));
}

/** Returns the path of each mount's copy, in the order of the mounts. */
export const copyPathsOf = (location: RestorePointLocation, mounts: readonly SavedMount[]): string[] =>
  groupMountsByService(location, mounts).flatMap(({ folder, mounts: own }) =>
    own.map((_, at) => join(folder, `${at}`)),
  );

/**
 * Creates a mount in the format of the Engine API. With `NoCopy`, the engine copies no files from the image into an
 * empty volume.
 */
export const createHelperMount = (
  { volume, path, subpath }: Pick<SavedMount, 'volume' | 'path' | 'subpath'>,
  at: number,
  isReadOnly: boolean,
): Json => ({
  Type: volume === '' ? 'bind' : 'volume',
  Source: volume || path,
  Target: dataMountPathOf(at),
  ReadOnly: isReadOnly,
  ...(volume !== '' && { VolumeOptions: { NoCopy: true, ...(subpath && { Subpath: subpath }) } }),
});

type Call<V extends HelperOperation = HelperOperation> = Omit<HelperCall<V>, 'request' | 'mounts'> &
  Pick<HelperRequest, 'isIdle'>;

const canWriteData = (verb: HelperOperation): boolean =>
  verb === 'restore' || (verb === 'look' && readUserMapping() !== null);
const canWriteCopies = (verb: HelperOperation): boolean => verb === 'warm' || verb === 'cold';

const runServiceHelper = <V extends HelperOperation>(
  dataContext: DataContext,
  share: ServiceMounts,
  call: Call<V>,
): Promise<HelperResult<V>> => runHelperContainer<V>(dataContext, createHelperCall(share, call));

/** Creates the helper containers for a rollback while the disk still has space. */
export async function createRestoreHelperContainers(
  dataContext: DataContext,
  location: RestorePointLocation,
  mounts: readonly SavedMount[],
): Promise<void> {
  const { project } = dataContext;
  const holder = retainingContainerLabelOf(project, location);
  for (const share of groupMountsByService(location, mounts))
    for (const verb of ['look', 'hash', 'restore'] as const) {
      const name = retainingContainerNameOf(project, share.service, verb);
      const call = createHelperCall(share, { verb, code: 'save-failed' });
      await createDataHelperContainer(dataContext, call, { ...holder, name });
    }
}

function createHelperCall<V extends HelperOperation>(
  { mounts, folder }: ServiceMounts,
  { isIdle = false, ...call }: Call<V>,
): HelperCall<V> {
  const verb: HelperOperation = call.verb;
  const needsData = verb !== 'hash';
  return {
    ...call,
    request: {
      isIdle,
      mounts: mounts.map(({ isFile, root, device, excluded, hasRsyncAttributes = false }) => ({
        ...{ isFile, excluded, hasRsyncAttributes },
        root: needsData ? root : null,
        // Check the device only while a restore point is created, because a reboot may change a disk's device number.
        device: canWriteCopies(verb) ? device : null,
      })),
    },
    mounts: [
      ...(needsData ? mounts.map((mount, at) => createHelperMount(mount, at, !canWriteData(verb))) : []),
      ...(verb === 'look'
        ? []
        : [{ Type: 'bind', Source: folder, Target: restorePointMountPath, ReadOnly: !canWriteCopies(verb) }]),
    ],
  };
}

/**
 * Copies the data while services are running, so that little remains to be copied after they have stopped.
 * @throws UpdateError save-failed
 */
export async function copyMountsWhileRunning(
  dataContext: DataContext,
  location: RestorePointLocation,
  mounts: readonly SavedMount[],
): Promise<void> {
  const report = createProgressReporters(dataContext, mounts);
  for (const share of groupMountsByService(location, mounts))
    await copyServiceMounts(dataContext, share, { verb: 'warm', isIdle: true, onProgress: report(share) });
}

/**
 * Compares all contents and copies the differences, for all services in parallel. Does not sync the copies to disk.
 * Logs no progress, because percentages must not decrease within a phase.
 * @param stopped - fulfilled when nothing writes to the data any more; the helper containers start earlier
 * @param onWaiting - called when all helper containers have started and wait for `stopped`
 * @throws UpdateError save-failed; the signal's reason
 */
export async function copyMountsWhileStopped(
  dataContext: DataContext,
  location: RestorePointLocation,
  mounts: readonly SavedMount[],
  {
    stopped,
    signal,
    onWaiting = () => {},
  }: { stopped: Promise<unknown>; signal: AbortSignal; onWaiting?: () => void },
): Promise<void> {
  await requireVolumes(dataContext, mounts, 'save-failed');
  const shares = groupMountsByService(location, mounts);
  const waiting = new Set<ServiceMounts>();
  const failed = new AbortController();
  const copies = shares.map(async (share) => {
    const onProgress = () => {
      if (waiting.size < shares.length && waiting.add(share).size === shares.length) onWaiting();
    };
    try {
      // The helper program prints its first line before it waits.
      const call = {
        verb: 'cold',
        stopped,
        signal: AbortSignal.any([signal, failed.signal]),
        onProgress,
      } as const;
      await copyServiceMounts(dataContext, share, call);
    } catch (error) {
      // `stopped` may depend on `onWaiting`, so the others could wait forever.
      if (waiting.size < shares.length) failed.abort(error);
      throw error;
    }
  });
  if (shares.length === 0) onWaiting();
  // Wait for all copies even if one fails, so that no helper container is still running afterwards.
  await Promise.allSettled(copies);
  await Promise.all(copies);
}

async function copyServiceMounts(
  dataContext: DataContext,
  share: ServiceMounts,
  call: Omit<Call<'warm' | 'cold'>, 'code'>,
): Promise<void> {
  try {
    await mkdir(share.folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw new UpdateError('save-failed', error.message);
    });
    await runServiceHelper(dataContext, share, { ...call, code: 'save-failed' });
  } catch (error) {
    // Report `save-failed` even for a killed helper container. If the engine is unavailable, the next steps detect it.
    throw requireUpdateError(error, 'no-space', 'engine-unavailable').withCode('save-failed');
  }
}

/** Checks that all volumes exist, because the engine would create a missing volume. */
async function requireVolumes(
  dataContext: DataContext,
  mounts: readonly SavedMount[],
  code: ErrorCode,
): Promise<void> {
  const [gone] = await findMissingVolumes(dataContext, mounts);
  if (gone) throw new UpdateError(code, `the volume of ${gone.where} has been removed`);
}

export async function findMissingVolumes(
  { engine }: Pick<DataContext, 'engine'>,
  mounts: readonly SavedMount[],
): Promise<SavedMount[]> {
  const names = mounts.flatMap(({ volume }) => (volume ? [volume] : []));
  const there = new Set((await engine.listVolumes(names)).map(({ name }) => name));
  return mounts.filter(({ volume }) => volume !== '' && !there.has(volume));
}

/** Hashes each copy, in the order of the mounts. @throws UpdateError restore-point-unreadable */
export async function hashCopies(
  dataContext: DataContext,
  location: RestorePointLocation,
  mounts: readonly SavedMount[],
  how: Pick<Call, 'signal' | 'isIdle'> = {},
): Promise<string[]> {
  const hashes: string[] = [];
  for (const share of groupMountsByService(location, mounts)) {
    hashes.push(
      ...(await runServiceHelper(dataContext, share, {
        verb: 'hash',
        code: 'restore-point-unreadable',
        ...how,
      })),
    );
  }
  return hashes;
}

/**
 * Checks that the copies have not changed since they were created. @throws UpdateError restore-point-damaged,
 * restore-point-unreadable
 */
export async function requireIntactCopies(
  dataContext: DataContext,
  location: RestorePointLocation,
  point: RestorePointRecordData,
): Promise<void> {
  const now = await hashCopies(dataContext, location, point.mounts);
  const changed = point.mounts.filter((_, at) => now[at] !== point.hashes?.[at]);
  if (changed.length === 0) return;
  const names = changed.map(({ where }) => where).join(', ');
  throw new UpdateError(
    'restore-point-damaged',
    changed.length > 1
      ? `the copies of ${names} in ${location.directory} have changed since they were created: their hashes do not match`
      : `the copy of ${names} in ${location.directory} has changed since it was created: its hash does not match`,
  );
}

/**
 * Inspects the current mounts, and returns the results in the order of the mounts.
 * @throws UpdateError modified-since
 */
async function inspectCurrentMounts(
  dataContext: DataContext,
  mounts: readonly SavedMount[],
): Promise<MountInspection[]> {
  const code = 'modified-since';
  await requireVolumes(dataContext, mounts, code);
  const looks: MountInspection[] = [];
  for (const share of groupMountsByService({ directory: '/', isOutsideStateDirectory: false }, mounts))
    looks.push(...(await runServiceHelper(dataContext, share, { verb: 'look', code })));
  return looks;
}

/**
 * Checks that the current mounts are the saved mounts, and that a restore has enough space.
 * @throws UpdateError no-space, modified-since
 */
export async function requireSpaceToRestore(
  dataContext: DataContext,
  { mounts }: RestorePointRecordData,
): Promise<void> {
  const looks = await inspectCurrentMounts(dataContext, mounts);
  const disks = Map.groupBy(looks.entries(), ([, { device }]) => device);
  for (const [, own] of disks) {
    // The space of current files counts as free, because the restore replaces or removes these files.
    const needed = own.reduce((sum, [at, now]) => sum + (mounts[at]?.bytes ?? 0) - now.bytes, 0);
    const neededFiles = own.reduce((sum, [at, now]) => sum + (mounts[at]?.files ?? 0) - now.files, 0);
    const free = Math.min(...own.map(([, now]) => now.free));
    const freeFiles = Math.min(...own.map(([, now]) => now.freeFiles));
    const names = own.map(([at]) => mounts[at]?.where).join(', ');
    if (neededFiles > freeFiles)
      throw new UpdateError(
        'no-space',
        `restoring ${names} needs ${neededFiles} free inodes, but only ${freeFiles} are free`,
      );
    if (needed <= free) continue;
    throw new UpdateError(
      'no-space',
      `restoring ${names} needs ${formatSize(needed)}, but only ${formatSize(free)} is free`,
      { fields: { missing: needed - free } },
    );
  }
}

/**
 * Restores the data from the copies, and compares the data with the copies. The function can be called again after a
 * failure.
 * @throws UpdateError data-not-restored; the signal's reason
 */
export async function restoreDataFromCopies(
  dataContext: DataContext,
  location: RestorePointLocation,
  mounts: readonly SavedMount[],
  signal: AbortSignal,
): Promise<void> {
  await requireVolumes(dataContext, mounts, 'data-not-restored');
  const report = createProgressReporters(dataContext, mounts);
  for (const share of groupMountsByService(location, mounts)) {
    const call = { verb: 'restore', code: 'data-not-restored', signal, onProgress: report(share) } as const;
    const differences = await runServiceHelper(dataContext, share, call);
    const at = differences.findIndex((lines) => lines.length > 0);
    const mount = share.mounts[at];
    if (mount === undefined) continue;
    throw new UpdateError(
      'data-not-restored',
      `${mount.where} still differs from the restore point after the data was restored`,
      { detail: differences[at] ?? [] },
    );
  }
}

/**
 * Returns a function that creates progress callbacks. The progress of all mounts together is logged at most once a
 * second.
 */
function createProgressReporters(
  { log }: DataContext,
  mounts: readonly SavedMount[],
): (share: ServiceMounts) => (bytes: number) => void {
  const total = mounts.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  let toldAt = performance.now();
  return (share) => {
    const before = done;
    done += share.mounts.reduce((sum, { bytes }) => sum + bytes, 0);
    return (bytes) => {
      if (total === 0 || performance.now() < toldAt + progressEveryMs) return;
      toldAt = performance.now();
      const now = Math.min(before + bytes, total);
      const percent = Math.min(Math.floor((100 * now) / total), 99);
      log.progress(percent, `${formatSize(now)} of ${formatSize(total)}`, { bytes: now, total });
    };
  };
}
