import type { Engine } from '../cli/engine.ts';
import {
  type Container,
  compareContainerNumbers,
  containerNumberOf,
  isUp,
  serviceOf,
} from '../objects/container.ts';
import { composeLabels } from '../objects/labels.ts';

/**
 * Matches compose's temporary name for a replacement container: the first 12 digits of the replaced container's id, an
 * underscore, and the final name.
 */
const temporaryName = /^([0-9a-f]{12})_(.+)$/;

export const hasTemporaryName = ({ name }: Pick<Container, 'name'>): boolean => temporaryName.test(name);

/** Removes compose's temporary prefix from the container's name. */
export const finalNameOf = ({ name }: Pick<Container, 'name'>): string =>
  temporaryName.exec(name)?.[2] ?? name;

/**
 * Checks whether a container has compose's default name with this separator: `_` with `--compatibility`, otherwise `-`.
 */
export function hasDefaultName(separator: '_' | '-', container: Pick<Container, 'name' | 'labels'>): boolean {
  const project = container.labels[composeLabels.project] ?? '';
  return container.name === [project, serviceOf(container), containerNumberOf(container)].join(separator);
}

/**
 * Finds services whose containers must keep names like `project_service_1`. Otherwise, compose would rename the
 * containers that it replaces.
 */
export function findServicesWithUnderscoreNames(containers: readonly Container[]): string[] {
  const named = containers.map((container) => ({ ...container, name: finalNameOf(container) }));
  const isOld = (own: readonly Container[]) => {
    const telling = own.find((each) => hasDefaultName('_', each) || hasDefaultName('-', each));
    return telling === undefined ? null : hasDefaultName('_', telling);
  };
  // A service with custom names is included if the other services are, because its links contain the names of their
  // containers.
  const others = isOld(named) ?? false;
  return [...Map.groupBy(named, serviceOf)]
    .flatMap(([service, own]) => ((isOld(own) ?? others) ? [service] : []))
    .sort();
}

/** Checks whether compose created the first container to replace the second. */
export const isReplacementFor = ({ name }: Container, { id }: Container): boolean => {
  const prefix = temporaryName.exec(name)?.[1];
  return prefix !== undefined && id.startsWith(prefix);
};

export const isUnstartedWithTemporaryName = (container: Container): boolean =>
  hasTemporaryName(container) && container.status === 'created';

/** Checks whether a container is a replacement that compose has created but not started, whatever its name. */
export const isUnstartedReplacement = ({ status, labels }: Container): boolean =>
  status === 'created' && labels[composeLabels.replaces] !== undefined;

/**
 * Checks whether a container only runs a hook of its service. Compose 5.3 does not set the hook label: it labels such a
 * container only with project, service and version.
 */
export const isHookContainer = ({ labels }: Pick<Container, 'labels'>): boolean =>
  labels[composeLabels.hook] !== undefined ||
  (labels[composeLabels.number] === undefined && labels[composeLabels.oneOff] === undefined);

/** Containers of a compose project, without those of `docker compose run` and of hooks. */
export interface ProjectContainers {
  /** Sorted by container number. Includes containers that have a temporary name but are not leftovers. */
  containers: readonly Container[];
  /**
   * Never-started containers with temporary names, from an unfinished compose command. For each, the container to be
   * replaced still exists, or another container already has the final name.
   */
  leftovers: readonly Container[];
}

/** Checks whether compose stopped this container to replace it, so that the replacement must be started. */
export const isStoppedForReplacement = (container: Container, leftovers: readonly Container[]): boolean =>
  !isUp(container) && leftovers.some((leftover) => isReplacementFor(leftover, container));

/** Returns a filter for the containers of a project or a service, or for their events, for the engine's API. */
export const projectFilterOf = (project: string, service?: string) => ({
  label: [
    `${composeLabels.project}=${project}`,
    ...(service === undefined ? [] : [`${composeLabels.service}=${service}`]),
  ],
});

/** Previous result of `listProjectContainers`, from which unchanged containers are reused. */
interface PreviousListing {
  containers: readonly Container[];
  /** Services whose containers are inspected again even if they seem unchanged. */
  services: ReadonlySet<string>;
  /** Whether to list only the containers of `services`, and to return all other containers as they were. */
  listsOnlyServices?: boolean;
}

/** Maximum number of services whose containers are listed by separate requests. */
const maxPartialServices = 8;

/**
 * Lists a project's containers. Reuses results, because a project may have a hundred containers that the run does not
 * touch.
 * @param previous - previous result: containers with unchanged id, name and status are reused, except those of
 * `services`. With `listsOnlyServices`, containers of other services are reused without a check, if `services` are few.
 */
export async function listProjectContainers(
  engine: Engine,
  project: string,
  previous: PreviousListing = { containers: [], services: new Set() },
): Promise<ProjectContainers> {
  const { services } = previous;
  const isPartial =
    previous.listsOnlyServices === true && services.size > 0 && services.size <= maxPartialServices;
  const filters = isPartial
    ? [...services].map((service) => projectFilterOf(project, service))
    : [projectFilterOf(project)];
  const listed = (await Promise.all(filters.map((each) => engine.listContainers(each)))).flat();
  const own = listed.filter(
    (container) => container.labels[composeLabels.oneOff] !== 'True' && !isHookContainer(container),
  );
  const others = previous.containers.filter((each) => !services.has(serviceOf(each)));
  const isSame = ({ id, name, status }: Container) =>
    own.some((each) => each.id === id && each.name === name && each.status === status);
  const same = others.filter((each) => isPartial || isSame(each));
  const requested = own.flatMap(({ id }) => (same.some((each) => each.id === id) ? [] : [id]));
  return separateLeftoverContainers([...same, ...(await engine.inspectContainers(requested))]);
}

/** A project's containers, and the cached view of the engine with which they were read. */
export interface CachedProjectContainers extends ProjectContainers {
  cachedEngine: Engine;
}

/** Lists a project's containers with a new cached view of the engine. */
export async function listProjectContainersWithCache(
  engine: Engine,
  project: string,
): Promise<CachedProjectContainers> {
  const cachedEngine = engine.cached();
  return { ...(await listProjectContainers(cachedEngine, project)), cachedEngine };
}

export function separateLeftoverContainers(all: readonly Container[]): ProjectContainers {
  const isLeftover = (container: Container) =>
    isUnstartedWithTemporaryName(container) &&
    all.some(
      (other) =>
        other !== container && (isReplacementFor(container, other) || other.name === finalNameOf(container)),
    );
  return {
    containers: all.filter((container) => !isLeftover(container)).sort(compareContainerNumbers),
    leftovers: all.filter(isLeftover),
  };
}
