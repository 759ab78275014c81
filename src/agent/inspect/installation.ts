import type { Pin } from '../../compose/pin.ts';
import type { ProjectFiles } from '../../compose/project-files.ts';
import type { Compose, ComposeProject, Model, ModelService } from '../../engine/cli/compose.ts';
import type { Container } from '../../engine/container.ts';
import type { HostPaths } from '../../files/host-paths.ts';
import type { Product } from '../../progress/product.ts';
import type { DryRun } from '../drift/index.ts';

/** A service whose containers the update replaces. */
export interface ServiceFacts {
  name: string;
  /** All of its containers but compose's leftovers, stopped ones too, in the order of their numbers. At least one, but of a migration. */
  containers: readonly Container[];
  /** How many of them are meant to run. */
  running: number;
  /** Numbers of those that are stopped on purpose and stay so. */
  stopped: readonly number[];
}

/** A service that the update moves to another release. */
export interface PinnedService extends ServiceFacts {
  /** What decides the tag of its image. */
  pin: Pin;
}

/** A project as it was read, by us and by compose. */
export interface InspectedProject {
  product: Product;
  project: ComposeProject;
  compose: Compose;
  paths: HostPaths;
  /** `linux/amd64` */
  platform: string;
  /** `generated`: a file that every release overwrites. */
  kind: 'generated' | 'user-written';
  files: ProjectFiles;
  /** Services that the operator leaves behind. */
  exclude: readonly string[];
  /** `SVC_VERSION` unless the operator names another. */
  versionVariable: string;
  /** All services of the project, without the values of env files. */
  model: Model;
  /** Containers of the project, without one-off ones and compose's leftovers. */
  containers: readonly Container[];
  app: PinnedService;
  /** Those that have containers, and migrations that have none. */
  workers: readonly PinnedService[];
  /** Other services, which live in a namespace of one of those. */
  followers: readonly ServiceFacts[];
  /** `1.4.2` where the images tell, else null. */
  runningVersion: string | null;
  /** What the product writes before its versions; null where nothing tells. */
  prefix: 'v' | '' | null;
}

/** Everything the plan is made from: gathered once, changed by nobody. */
export interface Installation extends InspectedProject, DryRun {
  /** The engine's other compose projects. */
  beside: readonly ComposeProject[];
}

/** The services that the update moves, the app first. */
export const movedServices = ({ app, workers }: InspectedProject): PinnedService[] => [app, ...workers];

/** All services whose containers the update replaces. */
export const replacedServices = (installation: Installation): (ServiceFacts & { pin?: Pin })[] => [
  ...movedServices(installation),
  ...installation.followers,
];

/** The services that have to run to their end before this one starts. */
export const awaitedEnds = (service: ModelService | undefined): string[] =>
  Object.entries(service?.depends_on ?? {}).flatMap(([name, { condition }]) =>
    condition === 'service_completed_successfully' ? [name] : [],
  );

/** The compose files that a release may ship, and that then overwrite those of a generated install. */
export const composeFile = 'compose.yaml';
/** Laid over `compose.yaml` in cluster mode. */
export const clusterFile = 'compose.cluster.yaml';
export const releaseFileNames = [composeFile, clusterFile] as const;

/** Whether a compose file with this text is one that every update overwrites. */
export const isGenerated = (text: string, { marker }: Product): boolean =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/, 1)[0]
    ?.trimEnd() === marker;
