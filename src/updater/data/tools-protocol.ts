// The messages between the updater and tools.ts, which it runs in a container. Each container gets the mounts of one service
// (`/data/<n>`). The folder of that service in the restore point is mounted at /point;
// it contains one copy of each mount (`/point/<n>`).

/** In the updater's image. */
export const program = ['/usr/local/bin/node', '--', '/usr/local/lib/svc-updater/tools.mjs'];

export type Verb = 'look' | 'probe' | 'warm' | 'cold' | 'hash' | 'restore' | 'ports' | 'tables';

/** The only argument after the verb, as JSON. */
export interface Asked {
  mounts: readonly AskedMount[];
  /** While the product is available: at the lowest priority, on the disk as well. */
  isIdle?: boolean;
  /** For `tables`: processes of the host. */
  pids?: readonly number[];
}

export interface AskedMount {
  isFile: boolean;
  /** Both as an earlier look found them: a mount that differs by now is refused. Null if not known yet. */
  root: string | null;
  device: string | null;
  /** Paths below the mount, relative: they are neither copied nor removed. */
  excluded: readonly string[];
}

/** The result of `look`, for each mount. */
export interface Look {
  /** Sockets and devices are `other`. */
  type: 'directory' | 'file' | 'other';
  /** The directory of the file system that is mounted, such as `/opt/svc/data`. `device` is major:minor. Both are as in mountinfo. */
  root: string;
  device: string;
  /** The kernel's number for the type of the file system. */
  fileSystem: number;
  /** Bytes on the disk; a hole has none. */
  bytes: number;
  files: number;
  /** Of the file system, in bytes. */
  size: number;
  free: number;
  /** Up to five paths each: other file systems or subvolumes, owners that are not mapped, paths that are too long to copy. */
  inside: readonly string[];
  strange: readonly string[];
  tooLong: readonly string[];
}

/** The result of `probe`: `/point` is a directory of the disk that is to hold restore points. */
export interface Probe {
  /** What its file system cannot hold, in words: `owners`, `modes`, `access-control lists`, `extended attributes`, `holes`. */
  missing: readonly string[];
  fileSystem: number;
  device: string;
  size: number;
  free: number;
}

/** The result of `tables`. */
export interface Tables {
  /** The kernel's lists of mounts, by process, and of this container (`self`); empty if it has ended. */
  tables: Readonly<Record<string, string>>;
  /** Whether each mount of this container is a directory. */
  directories: readonly boolean[];
}

/** A line in between: bytes handled so far of all mounts together. */
export interface Progress {
  bytes: number;
}

/**
 * The last line. `warm` and `cold` have no result.
 * `hash`: one hash for each mount.
 * `restore`: the remaining differences of each mount, none if it is empty.
 * `ports`: the TCP ports on which a process is listening.
 */
export type Told =
  | { result: unknown }
  /** The first line of the error is a sentence, the others are details. `at` is the path in the container whose mount it is about. */
  | { error: string; code: 'no-space' | 'changed' | 'failed'; at?: string };

export const dataPath = (at: number): string => `/data/${at}`;
export const pointPath = '/point';
export const copyPath = (at: number): string => `${pointPath}/${at}`;
