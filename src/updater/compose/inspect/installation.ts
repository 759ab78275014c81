import { join } from 'node:path';
import type { Pin } from '../../../core/compose/pins/pin.ts';
import type { ProjectFiles } from '../../../core/compose/project-files.ts';
import type { TextFile } from '../../../core/files/text-file.ts';
import type { HostPaths } from '../../../core/mounts/host-paths.ts';
import type { Product } from '../../../core/names/product.ts';
import type { Compose, ComposeModel, ComposeProject, ComposeService } from '../../../engine/cli/compose.ts';
import { type Container, type Image, serviceOf } from '../../../engine/objects/container.ts';
import type { Json } from '../../../engine/objects/json.ts';

/** A service whose containers the update replaces. */
export interface InstalledService {
  name: string;
  /**
   * All containers, sorted by number, including stopped ones but not compose's leftovers. Empty only for migrations.
   */
  containers: readonly Container[];
  /** Number of this service's containers that should be running. */
  running: number;
  /** Numbers of the containers that were stopped on purpose and therefore stay stopped. */
  stopped: readonly number[];
  /** Pin of the image, if the service is updated to another release. */
  pin?: Pin;
}

/** A service that is updated to another release. */
export interface PinnedService extends InstalledService {
  pin: Pin;
}

export interface InspectedProject {
  product: Product;
  project: ComposeProject;
  compose: Compose;
  paths: HostPaths;
  /** Platform of the engine, such as `linux/amd64`. */
  platform: string;
  /** `generated` if each release overwrites the compose file. */
  kind: 'generated' | 'user-written';
  files: ProjectFiles;
  /** Names of the services that the operator excludes from the update. */
  exclude: readonly string[];
  /** Name of the variable that contains the version; `SVC_VERSION` by default. */
  versionVariable: string;
  /** Compose's model of the current files, with all services but without the values of env files. */
  model: ComposeModel;
  /** Containers of the project, without one-off containers and compose's leftovers. */
  containers: readonly Container[];
  app: PinnedService;
  /** Updated workers: services with containers, and migrations even without containers. */
  workers: readonly PinnedService[];
  /** Other services that share a namespace with the app or a worker. */
  followers: readonly InstalledService[];
  /** Running version, such as `1.4.2`; null if unknown. */
  runningVersion: string | null;
  /** Prefix of the product's versions; null if it is unknown. */
  prefix: 'v' | '' | null;
}

/** Request that compose would send to create a container of a service. */
export interface ContainerCreateRequest {
  /** Container name without the temporary prefix that compose adds while it replaces a container. */
  name: string;
  /** Body of `POST /containers/create`. It contains the values of environment variables and must not be logged. */
  body: Json;
  /** API version of the request, such as `1.45`. Before 1.44, the body contains only the first network. */
  apiVersion: string;
}

/** Requests that `docker compose up` would send, their effects, and the images in use. */
export interface DryRunResult {
  /**
   * Requests, keyed by service. A service has no request if it has no container, or if no replaced service has a local
   * image.
   */
  requests: Map<string, ContainerCreateRequest>;
  /**
   * Networks that compose would disconnect from the project's containers and remove, because their definition was
   * edited.
   */
  removedNetworks: Set<string>;
  /** Volumes whose definition in the files has changed since their creation. */
  editedVolumes: Set<string>;
  /** Local images of the replaced containers, keyed by ID. */
  imagesInUse: ReadonlyMap<string, Image>;
}

/** All data that the plan is based on. Read once and never changed. */
export interface Installation extends InspectedProject, DryRunResult {
  otherProjects: readonly ComposeProject[];
  /** Running containers outside the project, except the updater. */
  outsideContainers: readonly Container[];
  /** Compose files that the next `docker compose up` uses by default; empty if the update uses the same files. */
  nextFiles: readonly TextFile[];
}

/** Returns the services that are updated to another release, the app first. */
export const updatedServicesOf = ({ app, workers }: InspectedProject): PinnedService[] => [app, ...workers];

export const replacedServicesOf = (installation: InspectedProject): InstalledService[] => [
  ...updatedServicesOf(installation),
  ...installation.followers,
];

/** Returns the paths of compose and env files. They do not count as data, because every rollback restores them. */
export const composeAndEnvPathsOf = ({ directory, files, envFiles }: ComposeProject): string[] => [
  ...files,
  ...envFiles,
  join(directory, '.env'),
];

/** Returns the containers of services that the update does not replace. */
export function unreplacedContainersOf(installation: Installation): Container[] {
  const replaced = replacedServicesOf(installation).map(({ name }) => name);
  return installation.containers.filter((each) => !replaced.includes(serviceOf(each)));
}

/** Returns the services that must complete before this service starts. */
export const completionDependenciesOf = (service: ComposeService | undefined): string[] =>
  Object.entries(service?.depends_on ?? {}).flatMap(([name, { condition }]) =>
    condition === 'service_completed_successfully' ? [name] : [],
  );

/** Compose file of a release. In a generated installation, an update overwrites the file with this name. */
export const composeFileName = 'compose.yaml';
/** Compose file for the product's cluster mode, used together with `compose.yaml` or alone. */
export const clusterModeComposeFileName = 'compose.cluster.yaml';
export const releaseComposeFileNames = [composeFileName, clusterModeComposeFileName] as const;

/** A generated compose file starts with the product's marker, and updates overwrite it. */
export const isGeneratedComposeFile = (text: string, { marker }: Product): boolean =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/, 1)[0]
    ?.trimEnd() === marker;
