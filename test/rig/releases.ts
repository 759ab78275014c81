import { clusterCompose, generatedCompose } from './compose-text.ts';
import type { Layer } from './image.ts';

/** A file that an image ships: its text, or its bytes. */
export type ShippedFile = string | Buffer;

/** What is special about a release; everything left out is as in a good one. */
export interface ReleaseOptions {
  /** Its app is the real server of `server/main.ts` instead of a shell script. */
  server?: boolean;
  /** Without the `v`; default: the tag without its `v`. A floating tag needs one. */
  version?: string;
  /** The `org.opencontainers.image.version` label where it is not the version; null for none. */
  versionLabel?: string | null;
  /** By file name, in place of or beside the good ones; null leaves one out. */
  files?: Record<string, ShippedFile | null>;
  env?: Record<string, string>;
  entrypoint?: string[];
  labels?: Record<string, string>;
  /** Paths that the image declares as volumes. */
  volumes?: string[];
  /** So many bytes that do not compress and that no other image has. */
  ballast?: number;
  /** Other programs, below what is the release's own. */
  layers?: readonly Layer[];
  /** Published as an index of just these (`linux/arm64`) instead of one manifest for this machine. */
  platforms?: string[];
  /**
   * Made for each of these (`linux/arm64`), with this machine's programs in all, so that each runs here: as an index, or
   * one alone without any. `ARCH` in its environment says which one it is.
   */
  builds?: readonly string[];
  /** Published as an index of the manifest for this machine and an attestation that says this: same content, another digest. */
  attestation?: string;
}

/** Tags of releases that are broken, or slow; every other tag is a good release of its own name. */
export const releases: Readonly<Record<string, ReleaseOptions>> = {
  /** Exits at once. */
  'v1.1.1': { env: { FAULT_APP: 'exit', FAULT_WORKER: 'exit' } },
  /** Never healthy. */
  'v1.1.2': { env: { FAULT_APP: 'unhealthy', FAULT_WORKER: 'unhealthy' } },
  /** Cannot even start. */
  'v1.1.3': { entrypoint: ['/bin/there-is-no-such-file'] },
  /** Takes 4 s to become healthy. */
  'v1.1.5': { env: { READY_AFTER: '4' } },
  /** The app is well, its worker exits at once. */
  'v1.1.6': { env: { FAULT_WORKER: 'exit' } },
};

/** Ways in which the generated files of a release can be wrong or surprising. */
export const releaseFiles = {
  unmarked: { files: { 'compose.yaml': generatedCompose('unmarked').replace(/^.*\n/, '') } },
  addsService: {
    files: {
      'compose.yaml': generatedCompose('with a cache', { service: { cache: 'cache' } }),
      'compose.cluster.yaml': clusterCompose('with a cache', { service: { cache: 'cache' } }),
    },
  },
} as const satisfies Record<string, ReleaseOptions>;
