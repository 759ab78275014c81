import { join } from 'node:path';
import type { Pin } from '../../../core/compose/pin.ts';
import type { ProjectFiles } from '../../../core/compose/project-files.ts';
import type { HostPaths } from '../../../core/files/host-paths.ts';
import type { TextFile } from '../../../core/files/text-file.ts';
import type { Product } from '../../../core/progress/product.ts';
import type { Compose, ComposeProject, Model, ModelService } from '../../../engine/cli/compose.ts';
import { type Container, type Image, serviceOf } from '../../../engine/container.ts';
import type { Json } from '../../../engine/json.ts';

/** A service whose containers the update replaces. */
export interface ServiceFacts {
  name: string;
  /** All containers except compose's leftovers, including stopped ones, in order of number. Only migrations may have none. */
  containers: readonly Container[];
  /** How many should be running. */
  running: number;
  /** Numbers of containers that were stopped on purpose and remain stopped. */
  stopped: readonly number[];
  /** The pin of its image, if the service is updated to another release. */
  pin?: Pin;
}

/** A service that is updated to another release. */
export interface PinnedService extends ServiceFacts {
  pin: Pin;
}

/** A project as read by the updater and by compose. */
export interface InspectedProject {
  product: Product;
  project: ComposeProject;
  compose: Compose;
  paths: HostPaths;
  /** `linux/amd64` */
  platform: string;
  /** `generated`: each release overwrites the file. */
  kind: 'generated' | 'user-written';
  files: ProjectFiles;
  /** Services that the operator excludes. */
  exclude: readonly string[];
  /** `SVC_VERSION` by default. */
  versionVariable: string;
  /** All services of the project, without the values of env files. */
  model: Model;
  /** Containers of the project, without one-off ones and compose's leftovers. */
  containers: readonly Container[];
  app: PinnedService;
  /** Workers with containers, and migrations without containers. */
  workers: readonly PinnedService[];
  /** Other services that share a namespace with the app or a worker. */
  followers: readonly ServiceFacts[];
  /** `1.4.2`, or null if unknown. */
  runningVersion: string | null;
  /** The prefix of the product's versions; null if unknown. */
  prefix: 'v' | '' | null;
}

/** The request that compose would send for one container of a service. */
export interface SentContainer {
  /** Without the temporary prefix that compose adds while it replaces a container. */
  name: string;
  /** The body of `POST /containers/create`. It has the values of environment variables and must not be logged. */
  body: Json;
  /** `1.45`: before 1.44 the body has the first network alone. */
  apiVersion: string;
}

/** Effects of `docker compose up`, from the requests that compose would send, and the current images. */
export interface DryRun {
  /** By service. A service is missing if no image is on this machine. */
  sent: Map<string, SentContainer>;
  /** Networks that compose would disconnect its containers from and remove, because their definitions were edited. */
  removedNetworks: Set<string>;
  /** Volumes that were created from another definition than the files have. */
  editedVolumes: Set<string>;
  /** By their ids, the images of the services' containers that are on this machine. */
  imagesInUse: ReadonlyMap<string, Image>;
}

/** All facts for the plan. Read once and never changed. */
export interface Installation extends InspectedProject, DryRun {
  /** The engine's other compose projects. */
  beside: readonly ComposeProject[];
  /** Running containers that are neither the project's nor the updater. */
  outside: readonly Container[];
  /** The files that the next `docker compose up` uses by default; empty if the update uses the same files. */
  nextFiles: readonly TextFile[];
}

/** The services that are updated, the app first. */
export const movedServices = ({ app, workers }: InspectedProject): PinnedService[] => [app, ...workers];

/** All services with containers that the update replaces. */
export const replacedServices = (installation: Installation): ServiceFacts[] => [
  ...movedServices(installation),
  ...installation.followers,
];

/** Compose and env files, which the update itself restores. */
export const ownFiles = ({ directory, files, envFiles }: ComposeProject): string[] => [
  ...files,
  ...envFiles,
  join(directory, '.env'),
];

/** The containers of the services that are not updated. */
export function otherContainers(installation: Installation): Container[] {
  const replaced = replacedServices(installation).map(({ name }) => name);
  return installation.containers.filter((each) => !replaced.includes(serviceOf(each)));
}

/** The services that must complete before this one starts. */
export const awaitedEnds = (service: ModelService | undefined): string[] =>
  Object.entries(service?.depends_on ?? {}).flatMap(([name, { condition }]) =>
    condition === 'service_completed_successfully' ? [name] : [],
  );

/** Compose files of a release. They overwrite those of a generated install. */
export const composeFile = 'compose.yaml';
/** Overrides `compose.yaml` in cluster mode. */
export const clusterFile = 'compose.cluster.yaml';
export const releaseFileNames = [composeFile, clusterFile] as const;

/** Whether updates overwrite a compose file with this text. */
export const isGenerated = (text: string, { marker }: Product): boolean =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/, 1)[0]
    ?.trimEnd() === marker;
