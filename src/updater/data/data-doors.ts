import type { Engine } from '../../engine/cli/engine.ts';
import type { Log } from '../run/log/log.ts';

/** What saving and restoring data works with. */
export interface DataDoors {
  engine: Engine;
  log: Log;
  /** The compose project. */
  project: string;
  /** `sha256:…` of the updater's own image, from which the tools containers are made. */
  toolsImage: string;
  /** This run alone may start the tools containers of a restore point. */
  hasLock?: boolean;
}

/** Where a restore point is, as the host has it; the same path is mounted in this container. */
export interface PointPlace {
  directory: string;
  /** Named by `--restore-dir`: outside of `.svc-updater`. */
  isElsewhere: boolean;
}

/** What a restore point covers. */
export interface Declared {
  /** Services whose data is saved; dependencies before dependants, in the order in which they start. */
  covered: readonly string[];
  /** Services, or mounts of them by their path in the container, that are excluded. */
  excluded: readonly { service: string; path: string | null }[];
  /** Mounts of services that are neither covered nor excluded, `files:/data`. */
  uncovered: readonly string[];
  /** Dependencies of updated services that keep a queue or cache only in memory: restarted after a rollback. */
  inMemory: readonly string[];
  /** Hosts of databases outside the project that are accepted. */
  outside: readonly string[];
}
