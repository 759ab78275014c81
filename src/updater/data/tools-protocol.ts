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
  /** Whether the copy has attributes named `user.rsync.%…`, too. Default: no. */
  hasRsyncAttributes?: boolean;
}

export const dataPath = (at: number): string => `/data/${at}`;
export const pointPath = '/point';
export const copyPath = (at: number): string => `${pointPath}/${at}`;
