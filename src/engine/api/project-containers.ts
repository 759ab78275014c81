import type { Engine } from '../cli/engine.ts';
import { type Container, compareContainerNumbers, isUp, numberOf, serviceOf } from '../container.ts';
import { composeLabels } from '../labels.ts';

/**
 * Temporary name that compose gives to a replacement container: the first 12 digits of the replaced container's id, and
 * its name.
 */
const temporaryName = /^([0-9a-f]{12})_(.+)$/;

export const hasTemporaryName = ({ name }: Pick<Container, 'name'>): boolean => temporaryName.test(name);

/** Returns the container's name without compose's temporary prefix. */
export const finalName = ({ name }: Pick<Container, 'name'>): string => temporaryName.exec(name)?.[2] ?? name;

/**
 * Checks whether compose has joined the parts of the container's name with `_` (`--compatibility`) or `-` (default).
 */
export function isJoinedBy(separator: '_' | '-', container: Pick<Container, 'name' | 'labels'>): boolean {
  const project = container.labels[composeLabels.project] ?? '';
  return container.name === [project, serviceOf(container), numberOf(container)].join(separator);
}

/**
 * Returns the services whose containers have names like `project_service_1`. Existing containers decide, because
 * compose renames the containers that it replaces. A service with custom names (`container_name`) follows the other
 * services, because the names in its links use the same separator.
 */
export function oldNamesOf(containers: readonly Container[]): string[] {
  const named = containers.map((container) => ({ ...container, name: finalName(container) }));
  const isOld = (own: readonly Container[]) => {
    const telling = own.find((each) => isJoinedBy('_', each) || isJoinedBy('-', each));
    return telling === undefined ? null : isJoinedBy('_', telling);
  };
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

/** Checks whether compose has created a container under a temporary name but not started it. */
export const isUnstartedWithTemporaryName = (container: Container): boolean =>
  hasTemporaryName(container) && container.status === 'created';

/** Checks whether compose has created and renamed a replacement container but not started it. */
export const isUnstartedReplacement = ({ status, labels }: Container): boolean =>
  status === 'created' && labels[composeLabels.replaces] !== undefined;

/**
 * Checks whether a container only runs a hook of its service. Compose 5.3 labels such a container with project, service
 * and version only.
 */
export const isHook = ({ labels }: Pick<Container, 'labels'>): boolean =>
  labels[composeLabels.hook] !== undefined ||
  (labels[composeLabels.number] === undefined && labels[composeLabels.oneOff] === undefined);

/** Containers of a compose project, without those of `docker compose run` and of hooks. */
export interface ProjectContainers {
  /** Containers by number. Includes containers that never got their final name and whose predecessor is gone. */
  containers: readonly Container[];
  /**
   * Containers with a temporary name that were not started, if the container to be replaced still exists or another
   * container already has the final name. Created by a compose command that is in progress or was killed.
   */
  leftovers: readonly Container[];
}

/**
 * Checks whether compose has stopped a container to replace it but not removed it. The container was running, so its
 * successor must run too.
 */
export const isStoppedForReplacement = (container: Container, leftovers: readonly Container[]): boolean =>
  !isUp(container) && leftovers.some((leftover) => isReplacementFor(leftover, container));

/** Returns the filter for a project's containers and events. */
export const projectFilterFor = (project: string) => ({ label: [`${composeLabels.project}=${project}`] });

/** Previous result for a project. */
interface EarlierLook {
  containers: readonly Container[];
  /** Services whose containers are always inspected again. */
  services: ReadonlySet<string>;
}

/**
 * Lists the containers of a project.
 * @param earlier previous result. Containers of other services than `services` are reused if the list has the same id,
 * name and status: a project may have a hundred containers that the run does not touch.
 */
export async function listProject(
  engine: Engine,
  project: string,
  earlier: EarlierLook = { containers: [], services: new Set() },
): Promise<ProjectContainers> {
  const listed = await engine.listContainers(projectFilterFor(project));
  const own = listed.filter(
    (container) => container.labels[composeLabels.oneOff] !== 'True' && !isHook(container),
  );
  const others = earlier.containers.filter((each) => !earlier.services.has(serviceOf(each)));
  const same = others.filter(({ id, name, status }) =>
    own.some((each) => each.id === id && each.name === name && each.status === status),
  );
  const asked = own.flatMap(({ id }) => (same.some((each) => each.id === id) ? [] : [id]));
  return separateLeftovers([...same, ...(await engine.inspectContainers(asked))]);
}

/** Separates compose's leftovers from the other containers. */
export function separateLeftovers(all: readonly Container[]): ProjectContainers {
  const isLeftover = (container: Container) =>
    isUnstartedWithTemporaryName(container) &&
    all.some(
      (other) =>
        other !== container && (isReplacementFor(container, other) || other.name === finalName(container)),
    );
  return {
    containers: all.filter((container) => !isLeftover(container)).sort(compareContainerNumbers),
    leftovers: all.filter(isLeftover),
  };
}
