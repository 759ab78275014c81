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
}

/** Where a restore point is, as the host has it; the same path is mounted in this container. */
export interface PointPlace {
  directory: string;
  /** Named by `--restore-dir`: outside of `.svc-updater`. */
  isElsewhere: boolean;
}

/** A mount whose content a restore point holds. */
export interface SavedMount {
  /** The first covered service that has it; its tools container gets it. */
  service: string;
  /** For people: `db:/var/lib/postgresql/data`. */
  where: string;
  /** The volume's name; empty for a bind mount. */
  volume: string;
  /** On the host; a volume's, too. */
  path: string;
  /** Of a volume: the folder in it that is mounted, else empty. */
  subpath: string;
  isFile: boolean;
  root: string;
  device: string;
  excluded: readonly string[];
  bytes: number;
  files: number;
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
