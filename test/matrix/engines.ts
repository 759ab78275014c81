import type { MakerName } from './cells.ts';

/** An engine that updates are tried on. */
export interface EngineKind {
  /** As docs/matrix.md names it. */
  title: string;
  /** Folder with its programs; the same for all its stores. */
  programs: string;
  /** Of its daemon. */
  flags: readonly string[];
  /** The one compose that its instances are made with, where what is another has nothing to do with compose. */
  maker?: MakerName;
  /** The file system of the whole machine, where it is not this one's. */
  disk?: 'btrfs';
  /** It runs as an ordinary user, who is root in a namespace of his own alone. */
  rootless?: boolean;
  /** The machine that the updater's image is for, where it is another than the engine's. */
  machine?: 'arm64';
  /** It is Podman; `all-anew` where compose takes every container there for changed at each `up`. */
  podman?: 'all-anew' | 'as-ever';
}

const rootless = { flags: ['--rootless'], maker: '5.4', rootless: true } as const;

/** In the order of the page, from its end. */
export const engines = {
  '20.10': { title: 'Engine 20.10', programs: '20.10', flags: [] },
  // Images, volumes and compose files on btrfs, and an old compose.
  '26.1-btrfs': {
    title: 'Engine 26.1 on btrfs, as on a Synology NAS',
    programs: '26.1',
    flags: ['--storage-driver', 'btrfs'],
    maker: '2.20',
    disk: 'btrfs',
  },
  // The engine itself is this machine's, and so are the instances: the updater and all that it starts are emulated.
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
    // It tells networks by name, and not by id.
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
  // Its default where nothing is there yet.
  '29-containerd': { title: 'Engine 29 with the containerd store', programs: '29', flags: [] },
} as const satisfies Record<string, EngineKind>;

export type EngineName = keyof typeof engines;
export const engineNames = Object.keys(engines) as EngineName[];
export const kindOf = (engine: EngineName): EngineKind => engines[engine];
