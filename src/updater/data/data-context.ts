import type { Engine } from '../../engine/cli/engine.ts';
import type { Log } from '../run/log/run-log.ts';

/** Dependencies of functions that save and restore data. */
export interface DataContext {
  engine: Engine;
  log: Log;
  /** Name of the compose project. */
  project: string;
  /** Id of the updater's own image (`sha256:…`), from which helper containers are created. */
  helperImageId: string;
  /** Whether this run holds the lock. Only then may it reuse helper containers that were created ahead of time. */
  hasLock?: boolean;
}

/** Host directory of a restore point. It is mounted at the same path in this container. */
export interface RestorePointLocation {
  directory: string;
  /** Whether `--restore-dir` places the directory outside `.svc-updater`. */
  isOutsideStateDirectory: boolean;
}

/** Which data a restore point contains, and which it does not. */
export interface DataCoverage {
  /** Services whose data is saved, in start order, with dependencies first. */
  covered: readonly string[];
  /** Excluded services and mounts. `path` is the mount's path in the container; null for a whole service. */
  excluded: readonly { service: string; path: string | null }[];
  /** Mounts that are neither saved nor excluded, such as `files:/data`. */
  uncovered: readonly string[];
  /**
   * Services that updated services depend on, and that hold a queue or cache only in memory. A rollback restarts them.
   */
  inMemory: readonly string[];
  /** Hosts of external databases whose setting in the settings file is `none`. */
  outside: readonly string[];
}
