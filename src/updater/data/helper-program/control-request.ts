/** Request to `control-processes.ts`. */
export interface ControlRequest {
  /** Ids of the containers whose processes are controlled. */
  containers: readonly string[];
  /** For `suspend`: maximum time in ms. */
  limitMs?: number;
  /** For `guard`: number of mounts whose disks are watched. */
  disks?: number;
}

/** Path in the helper container of a mount whose disk `guard` watches. */
export const watchedDiskPathOf = (at: number): string => `/disks/${at}`;

/** Lines that the updater sends. `done` ends both verbs. */
export type ControlCommand = 'suspend' | 'watch' | 'done';

/** `limit-passed`: all processes run again. `shortage`: memory or disk space is almost used up. */
export const processEvents = ['ready', 'suspended', 'limit-passed', 'resumed', 'shortage'] as const;

/** Line that `control-processes.ts` prints. */
export interface ProcessEvent {
  event: (typeof processEvents)[number];
  text: string;
}

/** Shares of memory and of each disk that must stay free. */
export const lowestMemoryShare = 0.1;
export const lowestDiskShare = 0.05;

/** Returns the available and the total memory in bytes. @param text - contents of `/proc/meminfo` */
export function parseMemoryInfo(text: string): { available: number; total: number } {
  const bytesOf = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0) * 1024;
  return { available: bytesOf('MemAvailable'), total: bytesOf('MemTotal') };
}
