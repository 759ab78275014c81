import { clusterCompose, generatedCompose } from './compose-text.ts';
import type { Layer } from './image.ts';

/** A file in an image: its text or bytes. */
export type ShippedFile = string | Buffer;

/** Differences of a release from a good one. */
export interface ReleaseOptions {
  /** Whether its app is the real server of `server/main.ts` instead of a shell script. */
  server?: boolean;
  /** Without the `v`; default: the tag without its `v`. A floating tag requires a version. */
  version?: string;
  /** The label `org.opencontainers.image.version` if it is not the version; null for none. */
  versionLabel?: string | null;
  /** Files by name that replace or complete the good files; null removes a file. */
  files?: Record<string, ShippedFile | null>;
  env?: Record<string, string>;
  entrypoint?: string[];
  labels?: Record<string, string>;
  /** Paths that the image declares as volumes. */
  volumes?: string[];
  /** Number of additional bytes, which cannot be compressed and are in no other image. */
  ballast?: number;
  /** Additional programs, below the release's own layer. */
  layers?: readonly Layer[];
  /** Published as an index of exactly these platforms (`linux/arm64`) instead of one manifest for this machine. */
  platforms?: string[];
  /**
   * Platforms (`linux/arm64`) to build for, all with this machine's programs, so that each build runs here: several as
   * an index, a single one without. `ARCH` in the environment is the platform of the build.
   */
  builds?: readonly string[];
  /** Published as an index of the manifest for this machine and this attestation: same content, another digest. */
  attestation?: string;
}

/** Tags of bad or slow releases; every other tag is a good release of that version. */
export const releases: Readonly<Record<string, ReleaseOptions>> = {
  /** Exits at once. */
  'v1.1.1': { env: { FAULT_APP: 'exit', FAULT_WORKER: 'exit' } },
  /** Never healthy. */
  'v1.1.2': { env: { FAULT_APP: 'unhealthy', FAULT_WORKER: 'unhealthy' } },
  /** Cannot start. */
  'v1.1.3': { entrypoint: ['/bin/there-is-no-such-file'] },
  /** Takes 4 s to become healthy. */
  'v1.1.5': { env: { READY_AFTER: '4' } },
  /** The app is healthy, and the worker exits at once. */
  'v1.1.6': { env: { FAULT_WORKER: 'exit' } },
};

/** Wrong or surprising variants of the generated files in a release. */
export const releaseFiles = {
  unmarked: { files: { 'compose.yaml': generatedCompose('unmarked').replace(/^.*\n/, '') } },
  addsService: {
    files: {
      'compose.yaml': generatedCompose('with a cache', { service: { cache: 'cache' } }),
      'compose.cluster.yaml': clusterCompose('with a cache', { service: { cache: 'cache' } }),
    },
  },
} as const satisfies Record<string, ReleaseOptions>;
