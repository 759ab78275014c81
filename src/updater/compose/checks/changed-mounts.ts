import { join } from 'node:path';
import { isWithin } from '../../../core/mounts/host-paths.ts';
import { type MountTableEntry, parseMountTable, unescapeOctal } from '../../../core/mounts/mount-table.ts';
import type { StorageMount } from '../../../engine/objects/container.ts';
import { dataMountPathOf } from '../../data/helper-program/helper-request.ts';
import type { MountTables } from '../../data/helper-program/helper-result.ts';

/** A running container's mount. A helper container mounts the same source to find out whether it has changed. */
export interface HostMount extends StorageMount {
  /** Name of the mount in messages, such as `app:/data`. */
  where: string;
  /** Name of the volume; empty for a bind mount. */
  volume: string;
  /** Paths of all data mounts in the container, including this mount. */
  besides: readonly string[];
  /** Process ID of the container on the host. */
  pid: number;
  /** The engine's data directory on the host. Mounts of other containers come and go in this directory. */
  dataRoot: string;
}

/**
 * Describes the mounts whose source on the host changed after the container's start, for example a share that was
 * unmounted. Mounts in subdirectories are included.
 */
export function describeChangedMounts(
  mounts: readonly HostMount[],
  { tables, directories }: MountTables,
): string[] {
  const fresh = parseMountTable(tables.self ?? '');
  return mounts.flatMap(({ where, volume, path: source, destination, besides, pid, dataRoot }, at) => {
    const running = parseMountTable(tables[pid] ?? '');
    // Skip the container's own mounts. They appear again if a mounted host directory contains the engine's data
    // directory.
    const own = running.filter(({ path }) => besides.includes(path) || isWithin(path, '/etc'));
    const nested = besides.filter((path) => path !== destination && isWithin(path, destination));
    const inside = running.filter(
      ({ path }) => isWithin(path, destination) && !nested.some((each) => isWithin(path, each)),
    );
    // If a path has several mounts, the last mount hides the others.
    return [...new Map(inside.map((each) => [each.path, each])).values()].flatMap((now) => {
      const below = now.path.slice(destination.length);
      const next = fresh.findLast(({ path }) => path === `${dataMountPathOf(at)}${below}`);
      const isOthers = !isShare(now) || (volume === '' && isWithin(join(source, below), dataRoot));
      if (below === '' ? !next : isOthers || own.some((each) => hasSameSource(now, each, true))) return [];
      if (next && hasSameSource(now, next, directories[at] === true || below !== '')) return [];
      const other = next ? describeMountSource(next) : 'the directory below it';
      return `the source of ${where}${below} has changed on the host: the running container uses ${describeMountSource(now)}, but a new container would get ${other}`;
    });
  });
}

/**
 * Whether a nested mount is a network share or a disk. Other nested mounts are ignored, because they come and go on a
 * running host.
 */
const isShare = ({ type, source }: MountTableEntry): boolean => /[/:]/.test(source) && type !== 'squashfs';

/**
 * Whether two mounts have the same source. For files, only the file system is compared, because editors replace files.
 * FUSE mounts are compared by type and source, because each mount gets a new device number.
 */
const hasSameSource = (now: MountTableEntry, next: MountTableEntry, isDirectory: boolean): boolean =>
  (now.root === next.root || !isDirectory) &&
  (now.device === next.device ||
    (/^fuse/.test(now.type) && now.type === next.type && now.source === next.source));

const describeMountSource = ({ root, device, type, source }: MountTableEntry): string =>
  `${JSON.stringify(unescapeOctal(root))} of ${source} (${type}, ${device})`;
