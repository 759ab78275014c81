// Requests from the updater to main.ts, which runs in a helper container. The mounts of one service are mounted at
// `/data/<n>`. The service's directory in the restore point is mounted at `/point`. The copy of each mount is in
// `/point/<n>`.

import type { ReachTarget } from './reach.ts';

export const helperProgramCommand = ['/usr/local/bin/node', '--', '/usr/local/lib/svc-updater/tools.mjs'];

export type HelperOperation =
  | 'look'
  | 'probe'
  | 'warm'
  | 'cold'
  | 'hash'
  | 'restore'
  | 'ports'
  | 'tables'
  | 'reach';

/** Second argument of main.ts, as JSON; the first argument is the verb. */
export interface HelperRequest {
  mounts: readonly RequestedMount[];
  /** Whether to use the lowest CPU and disk priority, because the app is running. */
  isIdle?: boolean;
  /** For `tables`: ids of the host processes whose mount tables are read. */
  pids?: readonly number[];
  /** For `reach`: targets to which the helper container tries to connect. */
  targets?: readonly ReachTarget[];
}

export interface RequestedMount {
  isFile: boolean;
  /**
   * Root that an earlier `look` returned; null to skip the check. A mount with another root or `device` is rejected.
   */
  root: string | null;
  device: string | null;
  /** Paths relative to the mount. These files are neither copied nor removed. */
  excluded: readonly string[];
  /** Whether the copy includes attributes named `user.rsync.%…`. Default: false. */
  hasRsyncAttributes?: boolean;
}

export const dataMountPathOf = (at: number): string => `/data/${at}`;
export const restorePointMountPath = '/point';
export const copyPathOf = (at: number): string => `${restorePointMountPath}/${at}`;
