/** Request to `control-processes.ts`. */
export interface ControlRequest {
  /** Ids of the containers whose processes are controlled. */
  containers: readonly string[];
  /** For `hold`: longest time in ms for which the processes are suspended. */
  limitMs: number;
  /** For `guard`: number of mounts whose disks are watched. */
  disks: number;
}

/** Path in the helper container of a mount whose disk `guard` watches. */
export const watchedDiskPathOf = (at: number): string => `/disks/${at}`;

/** `late`: the limit has passed, and all processes run again. `short`: memory or disk space is almost used up. */
export const processEvents = ['ready', 'held', 'late', 'released', 'short'] as const;

/** Line that `control-processes.ts` prints. */
export interface ProcessEvent {
  event: (typeof processEvents)[number];
  text: string;
}
