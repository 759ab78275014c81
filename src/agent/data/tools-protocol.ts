// What the updater and `tools.ts`, which it runs in a container, say to each other.

/** What is asked for. */
export interface Asked {
  /** `root` is null where it is looked for. */
  mounts: { isFile: boolean; root: string | null }[];
  /** The user whose the restore point is, which alone is put back. */
  owner: number | null;
}

/** What one mount is. */
export interface Look {
  /** As in `FileMount`. */
  root: string;
  /** Sockets and devices are `other`. */
  type: 'directory' | 'file' | 'other';
  /** The number that the kernel has for its file system's type. */
  fileSystem: number;
  /** On the disk: a hole has none. */
  bytes: number;
  files: number;
  /** Where other file systems, or subvolumes of btrfs, are in it, a few. */
  inside: string[];
  /** What belongs to somebody whom the engine does not map, a few: unpacked, it would be somebody else's. */
  strange: string[];
}

/** What is said meanwhile: bytes of that mount so far. */
export interface Progress {
  at: number;
  bytes: number;
}

/** Where the mount of that number is, and the directory of the restore point. */
export const dataPath = (at: number): string => `/data/${at}`;
export const pointPath = '/point';
export const archiveName = (at: number): string => `files-${at}.tar`;

export type Verb = 'look' | 'save' | 'restore' | 'compare';
