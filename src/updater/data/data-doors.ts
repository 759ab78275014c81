import type { Engine } from '../../engine/cli/engine.ts';
import type { Log } from '../run/log/log.ts';

/** Dependencies of functions that save and restore data. */
export interface DataContext {
  engine: Engine;
  log: Log;
  /** Name of the compose project. */
  project: string;
  /** Id of the updater's own image (`sha256:…`), from which helper containers are created. */
  toolsImage: string;
  /** Whether only this run can start the helper containers of a restore point. */
  hasLock?: boolean;
}

/** Location of a restore point on the host. The same path is mounted in this container. */
export interface RestorePointLocation {
  directory: string;
  /** Whether the location is outside of `.svc-updater`, as specified by `--restore-dir`. */
  isElsewhere: boolean;
}

/** Scope of a restore point. */
export interface DataDeclaration {
  /** Services whose data is saved, in start order: dependencies before dependants. */
  covered: readonly string[];
  /** Excluded services, and excluded mounts with their path in the container. */
  excluded: readonly { service: string; path: string | null }[];
  /** Mounts of services that are neither covered nor excluded, such as `files:/data`. */
  uncovered: readonly string[];
  /** Dependencies of updated services that keep a queue or cache only in memory: restarted after a rollback. */
  inMemory: readonly string[];
  /** Accepted hosts of databases outside the project. */
  outside: readonly string[];
}
