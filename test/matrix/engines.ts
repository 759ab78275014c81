/** An engine that updates are tried on. */
export interface EngineKind {
  /** As docs/matrix.md names it. */
  title: string;
  /** Folder with its programs; the same for all its stores. */
  programs: string;
  /** Of its daemon. */
  flags: readonly string[];
  /** Tried with one compose alone: what is another there has nothing to do with compose. */
  oneCompose?: boolean;
}

/** In the order of the page, from its end. */
export const engines = {
  '20.10': { title: 'Engine 20.10', programs: '20.10', flags: [] },
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
