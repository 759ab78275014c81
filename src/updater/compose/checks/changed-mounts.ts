import { join } from 'node:path';
import { isWithin } from '../../../core/mounts/host-paths.ts';
import { type ListedMount, parseMountTable, unescapeOctal } from '../../../core/mounts/mount-table.ts';
import type { StorageMount } from '../../../engine/objects/container.ts';
import { dataPath } from '../../data/helper-program/helper-request.ts';
import type { Tables } from '../../data/helper-program/helper-result.ts';

/** A mount of a running container that the helper container also mounts, to compare the two. */
export interface HostMount extends StorageMount {
  /** Name in messages, such as `app:/data`. */
  where: string;
  /** Name of the volume; empty for a bind mount. */
  volume: string;
  /** Paths in the container at which it has mounts. */
  besides: readonly string[];
  /** Process ID of the container on the host. */
  pid: number;
  /** Data directory of the engine on the host, in which mounts of other containers appear and disappear. */
  dataRoot: string;
}

/**
 * Returns a message for each mount, including mounts in subdirectories, that a new container would get from another
 * file system or directory than the running container. For example, a share may have been unmounted, or a directory
 * replaced.
 */
export function findChangedMounts(mounts: readonly HostMount[], { tables, directories }: Tables): string[] {
  const fresh = parseMountTable(tables.self ?? '');
  return mounts.flatMap(({ where, volume, path: source, destination, besides, pid, dataRoot }, at) => {
    const running = parseMountTable(tables[pid] ?? '');
    // If a host directory contains the engine's data, the container's own mounts also appear below this directory.
    const own = running.filter(({ path }) => besides.includes(path) || isWithin(path, '/etc'));
    const nested = besides.filter((path) => path !== destination && isWithin(path, destination));
    const inside = running.filter(
      ({ path }) => isWithin(path, destination) && !nested.some((each) => isWithin(path, each)),
    );
    // Of several mounts on a path, the last one hides the others.
    return [...new Map(inside.map((each) => [each.path, each])).values()].flatMap((now) => {
      const below = now.path.slice(destination.length);
      const next = fresh.findLast(({ path }) => path === `${dataPath(at)}${below}`);
      const isOthers = !isShare(now) || (volume === '' && isWithin(join(source, below), dataRoot));
      if (below === '' ? !next : isOthers || own.some((each) => isSame(now, each, true))) return [];
      if (next && isSame(now, next, directories[at] === true || below !== '')) return [];
      const other = next ? wordsOf(next) : 'the directory below it';
      return `${where}${below} has changed on the host: the running container uses ${wordsOf(now)}, a new one would get ${other}`;
    });
  });
}

/**
 * Whether a nested mount is a share or a disk. Other mounts in a host directory come and go with the system, sessions
 * and containers.
 */
const isShare = ({ type, source }: ListedMount): boolean => /[/:]/.test(source) && type !== 'squashfs';

/**
 * Whether two mounts have the same source. For a file, only the file system is compared: editors replace a file by a
 * new file, which the new container should get. FUSE file systems are compared by type and source, because they have a
 * different device after each mount.
 */
const isSame = (now: ListedMount, next: ListedMount, isDirectory: boolean): boolean =>
  (now.root === next.root || !isDirectory) &&
  (now.device === next.device ||
    (/^fuse/.test(now.type) && now.type === next.type && now.source === next.source));

const wordsOf = ({ root, device, type, source }: ListedMount): string =>
  `${JSON.stringify(unescapeOctal(root))} of ${source} (${type}, ${device})`;
