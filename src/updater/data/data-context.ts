import type { Engine } from '../../engine/cli/engine.ts';
import type { Log } from '../run/log/run-log.ts';

/** Dependencies of functions that save and restore data. */
export interface DataContext {
  engine: Engine;
  log: Log;
  /** Name of the compose project. */
  project: string;
  /** Id of the updater's own image (`sha256:…`), from which helper containers are created. */
  toolsImage: string;
  /** Whether this run has the lock, so that no other run can start the helper containers of a restore point. */
  hasLock?: boolean;
}

/** Location of a restore point on the host. The same path is mounted in this container. */
export interface RestorePointLocation {
  directory: string;
  /** Whether the location is outside of `.svc-updater`, as specified by `--restore-dir`. */
  isElsewhere: boolean;
}

/** Data that a restore point contains, and data that it does not contain. */
export interface DataDeclaration {
  /** Services whose data is saved, in start order, with dependencies first. */
  covered: readonly string[];
  /**
   * Excluded services, for which `path` is null, and excluded mounts, for which `path` is the path in the container.
   */
  excluded: readonly { service: string; path: string | null }[];
  /** Mounts of services that are neither covered nor excluded, such as `files:/data`. */
  uncovered: readonly string[];
  /**
   * Dependencies of updated services that keep a queue or cache only in memory. They are restarted after a rollback.
   */
  inMemory: readonly string[];
  /** Hosts of databases outside the project that the settings file sets to `none`. */
  outside: readonly string[];
}
