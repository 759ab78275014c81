import type { Pin } from '../../compose/pin.ts';
import type { ProjectFiles } from '../../compose/project-files.ts';
import type { Compose, ComposeProject, Model } from '../../engine/cli/compose.ts';
import type { Container } from '../../engine/container.ts';
import type { HostPaths } from '../../files/host-paths.ts';

/** A service that the update moves. */
export interface ServiceFacts {
  name: string;
  isApp: boolean;
  /** All of its containers but compose's leftovers, stopped ones too, in the order of their numbers. At least one. */
  containers: readonly Container[];
  /** How many of them are meant to run. */
  running: number;
  /** Numbers of those that are stopped on purpose and stay so. */
  stopped: readonly number[];
}

/** Everything the plan is made from: gathered once, changed by nobody. */
export interface Installation {
  project: ComposeProject;
  compose: Compose;
  paths: HostPaths;
  /** `linux/amd64` */
  platform: string;
  /** `generated`: a file that every release overwrites. */
  kind: 'generated' | 'user-written';
  files: ProjectFiles;
  /** `SVC_VERSION` unless the operator names another. */
  versionVariable: string;
  /** All services of the project, without the values of env files. */
  model: Model;
  /** The services that move and what they depend on, with their whole environment; asked for at the same time. */
  movedModel: Promise<Model>;
  /** Containers of the project, without one-off ones and compose's leftovers. */
  containers: readonly Container[];
  /** The app first. */
  services: readonly ServiceFacts[];
  /** What decides the tag of each of them, in their order. */
  pins: readonly Pin[];
  /** Other services that live in a namespace of one of those. */
  followers: readonly ServiceFacts[];
  /** `1.4.2` where the images tell, else null. */
  runningVersion: string | null;
}

/** The compose files that a release may ship, and that then overwrite those of a generated install. */
export const composeFile = 'compose.yaml';
/** Laid over the other one in cluster mode. */
export const clusterFile = 'compose.cluster.yaml';
export const releaseFileNames = [composeFile, clusterFile] as const;

/** First line of a compose file that every update overwrites. */
export const generatedMarker = '# svc:generated';

export const isGenerated = (text: string): boolean =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/, 1)[0]
    ?.trimEnd() === generatedMarker;
