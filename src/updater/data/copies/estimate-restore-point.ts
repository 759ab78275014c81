// Determines the contents, duration and disk space of a restore point, before any container is stopped.

import { UpdateError } from '../../../core/errors/update-error.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { readUserMapping } from '../../../engine/self/user-mapping.ts';
import { formatSize, joinWithAnd } from '../../run/log/format-values.ts';
import type { DataContext, DataCoverage } from '../data-context.ts';
import { restorePointMountPath } from '../helper-program/helper-request.ts';
import type { DiskProbeResult, MountInspection } from '../helper-program/helper-result.ts';
import type { RestorePointRecordData, SavedMount } from '../restore-point.ts';
import {
  chooseMountsToSave,
  evaluateRunningWriters,
  isServiceContainer,
  type MountSelectionContext,
  outermostMountsOf,
  type UncheckedMount,
} from '../selection/choose-mounts.ts';
import { createHelperMount } from './copy-mounts.ts';
import { runHelperContainer } from './run-helper-container.ts';

/** Fields of the future restore point's record that are known in advance. */
export interface PlannedRestorePoint
  extends Pick<RestorePointRecordData, 'services' | 'inMemory' | 'mounts' | 'excluded' | 'bytes'> {
  /** Host directory of the project's restore points. */
  directory: string;
}

/** Expected downtime in seconds. */
export interface DowntimeEstimate {
  /** Minimum and maximum without the time for stopping; equal if they are based on the last restore point. */
  range: DurationEstimate;
  /** Maximum time for stopping the services; null if `range` is based on the last restore point and includes it. */
  stopping: number | null;
}
export type DurationEstimate = readonly [least: number, most: number];

interface RestorePointEstimateInput {
  doors: DataContext;
  mountContext: MountSelectionContext;
  /** Updated services, the app first. */
  updated: readonly string[];
  /** All containers of the project, and all other running containers. */
  containers: readonly Container[];
  /** Existing host directory on the disk that will contain restore points. */
  existingParent: string;
  /** Size and duration of the last restore point; null if there is none. */
  last: PreviousSaveTiming | null;
  /** For a rehearsal: the containers that write to the data are suspended, so none is a reason for an error. */
  rehearsed?: RehearsedMounts;
}

/** Mounts that a rehearsal copies in addition to those of a restore point. */
export interface RehearsedMounts {
  /** Services whose read-only mounts are copied. */
  services: readonly string[];
  /** Mounts that are new in the new version. */
  added: readonly UncheckedMount[];
}

export interface RestorePointEstimate {
  point: PlannedRestorePoint;
  /** Expected downtime of covered services. */
  downtime: DowntimeEstimate;
  /** Hosts of external databases whose setting in the settings file is `none`. */
  outside: DataCoverage['outside'];
  notSaved: readonly string[];
  warnings: readonly string[];
  /** Running containers that can write to the data. Empty for a restore point, before which they are stopped. */
  writers: readonly Container[];
  /** Bytes required on the disk of the restore points. */
  needed: number;
  free: number;
}

const bytesPerFile = 4_096;
/** Share of the disk that must stay free. */
const freeShare = 0.05;
/** Inodes that must stay free for reserve files, the record, backups and containers. */
const otherFiles = 1_000;

/**
 * Kernel numbers of network file systems: NFS, SMB, CIFS, 9p, AFS, Ceph, Coda, GFS2, OCFS2, Lustre, GPFS, shared
 * folders of VirtualBox and VMware.
 */
const networkFileSystems = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x5346414f, 0x6b414653, 0x00c36400, 0x73757245,
  0x01161970, 0x7461636f, 0x0bd00bd0, 0x47504653, 0x786f4256, 0xbacbacbc,
]);

/**
 * Plans a restore point without changing anything.
 * @throws UpdateError no-space, or data-unsupported, which lists all reasons
 */
export async function estimateRestorePoint(
  declared: DataCoverage,
  facts: RestorePointEstimateInput,
): Promise<RestorePointEstimate> {
  const {
    doors: dataContext,
    mountContext: around,
    updated,
    containers,
    existingParent: above,
    last,
    rehearsed,
  } = facts;
  const chosen = chooseMountsToSave(containers, declared, around, rehearsed?.services);
  const services = declared.covered.filter((service) => !updated.includes(service));
  const own = containers.filter((each) => isServiceContainer(each, dataContext.project));
  const stopSeconds = longestStopSecondsOf(own, [...updated.slice(0, 1), ...services]);
  const seen = await inspectMountsByService(dataContext, [...chosen.mounts, ...(rehearsed?.added ?? [])]);
  const probe = await runHelperContainer(dataContext, {
    verb: 'probe',
    code: 'data-unsupported',
    request: { mounts: [] },
    mounts: [{ Type: 'bind', Source: above, Target: restorePointMountPath, ReadOnly: false }],
  });
  const data = seen.filter(({ look }) => look.type !== 'other');
  const stopped = [...updated, ...services];
  const writers = evaluateRunningWriters(
    data.map(({ mount }) => mount),
    containers,
    around,
    (each) =>
      each.imageId === dataContext.helperImageId ||
      (rehearsed === undefined &&
        isServiceContainer(each, dataContext.project) &&
        stopped.includes(serviceOf(each))),
  );
  const refusals = [
    ...chosen.refusals,
    ...data.flatMap(({ mount, look }) => listUnsavableContentReasons(mount, look)),
    ...(probe.missing.length > 0
      ? [
          `the file system of ${around.restorePointsDirectory} does not support ${joinWithAnd(probe.missing)}: choose another directory with --restore-dir`,
        ]
      : []),
    ...(rehearsed === undefined ? writers.refusals : []),
  ];
  if (refusals.length > 0)
    throw new UpdateError('data-unsupported', refusals.at(-1) ?? '', { detail: refusals.slice(0, -1) });
  const inspected = data.map(({ mount, look: { type, root, device, bytes, length, files } }) => ({
    ...mount,
    ...{ isFile: type === 'file', root, device, bytes, length, files, hasRsyncAttributes: true },
  }));
  const mounts = rehearsed === undefined ? removeAliasedMounts(inspected) : inspected;
  const bytes = sum(mounts.map((mount) => mount.bytes));
  const files = sum(mounts.map((mount) => mount.files));
  const needed = bytes + bytesPerFile * files;
  const what = rehearsed === undefined ? 'a restore point' : 'a copy of the data';
  requireSpaceToSave({ bytes: needed, files }, probe, around.restorePointsDirectory, what);
  return {
    point: {
      directory: around.restorePointsDirectory,
      ...{ services, inMemory: declared.inMemory, mounts, bytes },
      excluded: declared.excluded.map(({ service, path }) =>
        path === null ? service : `${service}:${path}`,
      ),
    },
    downtime: estimateDowntime(bytesToReadOf(mounts), last, stopSeconds),
    outside: declared.outside,
    notSaved: [
      ...chosen.notSaved,
      ...seen.flatMap(({ mount, look }) =>
        look.type === 'other' ? [`${mount.where} (a socket or device)`] : [],
      ),
      ...declared.uncovered.map((where) => `${where} (neither saved nor excluded)`),
    ],
    warnings: [...chosen.warnings, ...writers.warnings],
    writers: writers.writers,
    ...{ needed, free: probe.free },
  };
}

/** Inspects the mounts of each service in a separate helper container. */
async function inspectMountsByService(
  dataContext: DataContext,
  mounts: readonly UncheckedMount[],
): Promise<{ mount: UncheckedMount; look: MountInspection }[]> {
  const seen: { mount: UncheckedMount; look: MountInspection }[] = [];
  for (const [, own] of Map.groupBy(mounts, ({ service }) => service)) {
    const looks = await runHelperContainer(dataContext, {
      verb: 'look',
      code: 'data-unsupported',
      request: {
        mounts: own.map(({ excluded }) => ({ isFile: false, root: null, device: null, excluded })),
      },
      // If users are mapped, mounts must be writable: only then does the kernel show unmapped owners.
      mounts: own.map((mount, at) => createHelperMount(mount, at, readUserMapping() === null)),
    }).catch((error) => {
      throw findMissingSourceError(own, error) ?? error;
    });
    seen.push(...own.map((mount, at) => ({ mount, look: looks[at] as MountInspection })));
  }
  return seen;
}

/** Returns an error about the missing source of a mount; null for any other failure. */
function findMissingSourceError(mounts: readonly UncheckedMount[], error: unknown): UpdateError | null {
  if (!(error instanceof UpdateError) || error.code !== 'engine-unavailable') return null;
  const text = [error.message, ...error.detail].join('\n');
  if (!/does not exist|no such file|not a directory/i.test(text)) return null;
  const named = findMountInText(text, mounts);
  const message = named
    ? `the source of ${named.where} is missing: ${JSON.stringify(named.path)}`
    : `the source of at least one of these mounts is missing: ${joinWithAnd(mounts.map(({ where }) => where))}`;
  return new UpdateError('data-unsupported', message, { cause: error, detail: [text] });
}

/** Finds the mount whose source path occurs in a message of the engine; prefers the longest path. */
export const findMountInText = <M extends Pick<UncheckedMount, 'path'>>(
  text: string,
  mounts: readonly M[],
): M | undefined =>
  mounts.toSorted((a, b) => b.path.length - a.path.length).find(({ path }) => text.includes(path));

/** Returns the reasons why the contents of a mount cannot be saved, one sentence each. */
export function listUnsavableContentReasons(
  { where, path }: Pick<UncheckedMount, 'where' | 'path'>,
  look: MountInspection,
): string[] {
  const isFar = networkFileSystems.has(look.fileSystem);
  const quoted = JSON.stringify(path);
  return [
    ...(isFar
      ? [`${where} is on a network file system (${quoted}): move it to a local disk, or exclude it`]
      : []),
    ...look.inside.map(
      (name) =>
        `${where} contains another file system or subvolume at ${JSON.stringify(name)}: mount it into the service separately, outside ${quoted}`,
    ),
    ...look.strange.map(
      (name) =>
        `${where} contains ${JSON.stringify(name)}, which belongs to a user or group that is not mapped into containers: change its owner, or move it out of ${quoted}`,
    ),
    ...look.tooLong.map(
      (name) =>
        `${where} contains a path below ${JSON.stringify(name)} that is too long to copy: remove it, or move it out of ${quoted}`,
    ),
  ];
}

/**
 * Removes mounts whose files are also saved through another mount, or under another path because of a symbolic link.
 */
export const removeAliasedMounts = (mounts: readonly SavedMount[]): SavedMount[] => {
  const real = mounts.map((mount) => ({
    mount,
    path: `/${mount.device}${mount.root}`,
    excluded: mount.excluded,
  }));
  return outermostMountsOf(real).map(({ mount }) => mount);
};

/** Requires enough free bytes and inodes. @throws UpdateError no-space */
export function requireSpaceToSave(
  { bytes, files }: { bytes: number; files: number },
  { size: all, free, freeFiles }: Pick<DiskProbeResult, 'size' | 'free' | 'freeFiles'>,
  where: string,
  what: string,
): void {
  if (freeFiles < files + otherFiles)
    throw new UpdateError(
      'no-space',
      `${what} in ${where} needs ${files + otherFiles} free inodes, but only ${freeFiles} are free`,
    );
  const reserve = all * freeShare;
  if (free - bytes >= reserve) return;
  throw new UpdateError(
    'no-space',
    `${what} needs ${formatSize(bytes)} in ${where}, but only ${formatSize(Math.max(free - reserve, 0))} is available: ${formatSize(free)} is free, and 5 % of the disk (${formatSize(reserve)}) must stay free`,
  );
}

/** Includes the holes of sparse files, because reading them also takes time. */
export const bytesToReadOf = (mounts: readonly SavedMount[]): number =>
  sum(mounts.map(({ bytes, length = bytes }) => length));

/**
 * Minimum grace period in seconds for containers with mounts. Killing a database leaves its data as after a crash.
 * Containers without mounts have no data to write, and often ignore the stop signal, so their own grace period applies.
 */
const minGraceSeconds = 60;

/** Returns the seconds between the stop signal and SIGKILL. */
export const graceSecondsOf = ({ stopTimeout, storage }: Container): number =>
  storage.length > 0 ? Math.max(stopTimeout, minGraceSeconds) : stopTimeout;

/** A container without a stop timeout counts as this many seconds in an estimate. */
const longestGraceSeconds = 3_600;

/** Returns the seconds that stopping these services in turn takes if no container reacts to its stop signal. */
export const longestStopSecondsOf = (containers: readonly Container[], services: readonly string[]): number =>
  sum(
    services.map((name) => {
      const own = containers.filter((each) => isUp(each) && serviceOf(each) === name);
      return Math.min(Math.max(0, ...own.map(graceSecondsOf)), longestGraceSeconds);
    }),
  );

/** Size and duration of the newest restore point. */
export interface PreviousSaveTiming {
  /** Bytes that were read, including holes. */
  bytes: number;
  seconds: number;
}

/** Shortest time in seconds for stopping and starting services, which does not depend on the amount of data. */
const fixedSeconds = 1;
/** From this size in bytes, a restore point's duration depends mainly on the disk's speed. */
const tellingBytes = 50_000_000;

/**
 * Estimates the downtime from the last restore point. If there is no restore point, assumes a speed between 100 MB/s
 * (slow disk) and 2 GB/s (memory).
 */
export function estimateDowntime(
  bytes: number,
  last: PreviousSaveTiming | null,
  stopSeconds: number,
): DowntimeEstimate {
  if (last !== null && (last.bytes >= tellingBytes || bytes <= tellingBytes)) {
    const fixed = Math.min(last.seconds, fixedSeconds);
    const seconds = fixed + (last.seconds - fixed) * (last.bytes > tellingBytes ? bytes / last.bytes : 1);
    return { range: [seconds, seconds], stopping: null };
  }
  return {
    range: [bytes / 2_000_000_000 + fixedSeconds, bytes / 100_000_000 + 4 * fixedSeconds],
    // The last restore point had less data, so most of its downtime was the time for stopping.
    stopping: last?.seconds ?? stopSeconds,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);
