import type { Fault, GroupName } from './fault.ts';

interface Group {
  load(): Promise<{ faults: readonly Fault[] }>;
  /** Needs a daemon that may be killed: the group runs in its own process, whose DOCKER_HOST is that daemon. */
  ownEngine: boolean;
  /** Number of tries that run in parallel. */
  lanes: number;
}

/** Imported only when run, because the imported modules read DOCKER_HOST at once. */
export const groups: Record<GroupName, Group> = {
  kill: { load: () => import('./kill-faults.ts'), ownEngine: false, lanes: 2 },
  registry: { load: () => import('./registry-faults.ts'), ownEngine: false, lanes: 4 },
  answers: { load: () => import('./answer-faults.ts'), ownEngine: false, lanes: 4 },
  people: { load: () => import('./people-faults.ts'), ownEngine: false, lanes: 3 },
  engine: { load: () => import('./engine-faults.ts'), ownEngine: true, lanes: 1 },
  power: { load: () => import('./power-faults.ts'), ownEngine: true, lanes: 1 },
  disk: { load: () => import('./disk-faults.ts'), ownEngine: true, lanes: 1 },
};
