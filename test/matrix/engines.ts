import type { MakerName } from './cells.ts';

/** An engine on which updates are tested. */
export interface EngineKind {
  /** Name in docs/matrix.md. */
  title: string;
  /** Folder with its programs; the same for all image stores. */
  programs: string;
  /** Flags of its daemon. */
  flags: readonly string[];
  /** The only compose that creates instances, if the difference of this engine does not depend on compose. */
  maker?: MakerName;
  /** The file system of the cell, if it differs from that of this machine. */
  disk?: 'btrfs';
  /** Runs as an ordinary user, who is root only in a user namespace. */
  rootless?: boolean;
  /** The architecture of the updater image, if it differs from that of the engine. */
  machine?: 'arm64';
  /** Set for Podman; `all-anew` if compose recreates every container at each `up`. */
  podman?: 'all-anew' | 'as-ever';
}

const rootless = { flags: ['--rootless'], maker: '5.4', rootless: true } as const;

/** In reverse order of docs/matrix.md. */
export const engines = {
  '20.10': { title: 'Engine 20.10', programs: '20.10', flags: [] },
  // Images, volumes and compose files are on btrfs; the compose is old.
  '26.1-btrfs': {
    title: 'Engine 26.1 on btrfs, as on a Synology NAS',
    programs: '26.1',
    flags: ['--storage-driver', 'btrfs'],
    maker: '2.20',
    disk: 'btrfs',
  },
  // Engine and instances are native; only the updater and the containers that it starts are emulated.
  '29-arm64': {
    title: 'The updater for arm64 (under qemu-user), Engine 29',
    programs: '29',
    flags: [],
    maker: '5.4',
    machine: 'arm64',
  },
  'podman-4.3': {
    title: 'Podman 4.3',
    programs: 'podman-4.3',
    flags: [],
    maker: '5.4',
    // It reports networks by name instead of id.
    podman: 'all-anew',
  },
  'podman-5': { title: 'Podman 5', programs: 'podman-5', flags: [], maker: '5.4', podman: 'as-ever' },
  '26.1-rootless': { title: 'Rootless 26.1', ...rootless, programs: '26.1' },
  '29-rootless': { title: 'Rootless 29', ...rootless, programs: '29' },
  '26.1': { title: 'Engine 26.1', programs: '26.1', flags: [] },
  '29-overlay2': {
    title: 'Engine 29 with overlay2',
    programs: '29',
    flags: ['--feature', 'containerd-snapshotter=false'],
  },
  // The default of a new installation.
  '29-containerd': { title: 'Engine 29 with the containerd store', programs: '29', flags: [] },
} as const satisfies Record<string, EngineKind>;

export type EngineName = keyof typeof engines;
export const engineNames = Object.keys(engines) as EngineName[];
export const kindOf = (engine: EngineName): EngineKind => engines[engine];
