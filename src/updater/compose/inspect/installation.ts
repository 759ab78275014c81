import { join } from 'node:path';
import type { Pin } from '../../../core/compose/pin.ts';
import type { ProjectFiles } from '../../../core/compose/project-files.ts';
import type { HostPaths } from '../../../core/files/host-paths.ts';
import type { TextFile } from '../../../core/files/text-file.ts';
import type { Product } from '../../../core/progress/product.ts';
import type { Compose, ComposeModel, ComposeProject, ModelService } from '../../../engine/cli/compose.ts';
import { type Container, type Image, serviceOf } from '../../../engine/container.ts';
import type { Json } from '../../../engine/json.ts';

/** A service whose containers the update replaces. */
export interface ServiceFacts {
  name: string;
  /**
   * All containers except compose's leftovers, including stopped containers, sorted by number. Only migrations may have
   * no containers.
   */
  containers: readonly Container[];
  /** Number of containers that should be running. */
  running: number;
  /** Numbers of containers that were stopped on purpose and remain stopped. */
  stopped: readonly number[];
  /** Pin of the image, if the service is updated to another release. */
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
  /** Platform of the engine: `linux/amd64` */
  platform: string;
  /** `generated` if each release overwrites the compose file. */
  kind: 'generated' | 'user-written';
  files: ProjectFiles;
  /** Services that the operator excludes. */
  exclude: readonly string[];
  /** Variable that contains the version; `SVC_VERSION` by default. */
  versionVariable: string;
  /** All services of the project, without the values of env files. */
  model: ComposeModel;
  /** Containers of the project, without one-off containers and compose's leftovers. */
  containers: readonly Container[];
  app: PinnedService;
  /** Workers with containers, and migrations without containers. */
  workers: readonly PinnedService[];
  /** Other services that share a namespace with the app or a worker. */
  followers: readonly ServiceFacts[];
  /** Running version, `1.4.2`; null if unknown. */
  runningVersion: string | null;
  /** Prefix of the product's versions; null if unknown. */
  prefix: 'v' | '' | null;
}

/** The request that compose would send for one container of a service. */
export interface SentContainer {
  /** Container name without the temporary prefix that compose adds while it replaces a container. */
  name: string;
  /** Body of `POST /containers/create`. It contains the values of environment variables and must not be logged. */
  body: Json;
  /** API version of the request, `1.45`. Before 1.44, the body contains only the first network. */
  apiVersion: string;
}

/** Effects of `docker compose up`, from the requests that compose would send, and the current images. */
export interface DryRun {
  /** Requests by service. A service is missing if none of the images is on this machine. */
  sent: Map<string, SentContainer>;
  /** Networks with edited definitions. Compose would disconnect the project's containers and remove these networks. */
  removedNetworks: Set<string>;
  /** Volumes whose definition in the files has changed since their creation. */
  editedVolumes: Set<string>;
  /** Images of the services' containers that are on this machine, by ID. */
  imagesInUse: ReadonlyMap<string, Image>;
}

/** All facts for the plan. Read once and never changed. */
export interface Installation extends InspectedProject, DryRun {
  /** Other compose projects on the engine. */
  beside: readonly ComposeProject[];
  /** Running containers that do not belong to the project, except the updater. */
  outside: readonly Container[];
  /** Files that the next `docker compose up` uses by default; empty if the update uses the same files. */
  nextFiles: readonly TextFile[];
}

/** Returns the updated services, the app first. */
export const updatedServices = ({ app, workers }: InspectedProject): PinnedService[] => [app, ...workers];

/** Returns all services whose containers the update replaces. */
export const replacedServices = (installation: Installation): ServiceFacts[] => [
  ...updatedServices(installation),
  ...installation.followers,
];

/** Returns the paths of the compose and env files, which the update itself restores. */
export const ownFiles = ({ directory, files, envFiles }: ComposeProject): string[] => [
  ...files,
  ...envFiles,
  join(directory, '.env'),
];

/** Returns the containers of services that are not updated. */
export function otherContainers(installation: Installation): Container[] {
  const replaced = replacedServices(installation).map(({ name }) => name);
  return installation.containers.filter((each) => !replaced.includes(serviceOf(each)));
}

/** Returns the services that must complete before this service starts. */
export const completedDependencies = (service: ModelService | undefined): string[] =>
  Object.entries(service?.depends_on ?? {}).flatMap(([name, { condition }]) =>
    condition === 'service_completed_successfully' ? [name] : [],
  );

/** Compose file of a release, which overwrites the file of a generated installation. */
export const composeFile = 'compose.yaml';
/** Compose file that overrides `compose.yaml` in cluster mode. */
export const clusterFile = 'compose.cluster.yaml';
export const releaseFileNames = [composeFile, clusterFile] as const;

/** Whether updates overwrite a compose file with this text. */
export const isGenerated = (text: string, { marker }: Product): boolean =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/, 1)[0]
    ?.trimEnd() === marker;
