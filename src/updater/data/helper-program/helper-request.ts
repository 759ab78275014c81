// Messages between the updater and tools.ts, which runs in a helper container. Each container has the mounts of one
// service (`/data/<n>`). The directory of that service in the restore point is mounted at /point and contains one copy
// of each mount (`/point/<n>`).

/** Command of a helper container in the updater's image. */
export const helperCommand = ['/usr/local/bin/node', '--', '/usr/local/lib/svc-updater/tools.mjs'];

export type HelperVerb = 'look' | 'probe' | 'warm' | 'cold' | 'hash' | 'restore' | 'ports' | 'tables';

/** Request to tools.ts: the JSON argument after the verb. */
export interface HelperRequest {
  mounts: readonly RequestedMount[];
  /** Whether to use the lowest CPU and disk priority, because the app is in use at the same time. */
  isIdle?: boolean;
  /** Ids of the host's processes whose mount tables `tables` returns. */
  pids?: readonly number[];
}

export interface RequestedMount {
  isFile: boolean;
  /**
   * Root that an earlier `look` returned; the same applies to `device`. A mount with another root or device is
   * rejected. Null if there is no earlier value to compare.
   */
  root: string | null;
  device: string | null;
  /** Relative paths below the mount that are neither copied nor removed. */
  excluded: readonly string[];
  /** Whether the copy also has attributes named `user.rsync.%…`. Default: false. */
  hasRsyncAttributes?: boolean;
}

export const dataPath = (at: number): string => `/data/${at}`;
export const restorePointPath = '/point';
export const copyPath = (at: number): string => `${restorePointPath}/${at}`;
