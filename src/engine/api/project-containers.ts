import type { Engine } from '../cli/engine.ts';
import { byNumber, type Container, isUp, numberOf, serviceOf } from '../container.ts';
import { composeLabels } from '../labels.ts';

/** Compose's name for a container that is to take another's place: the first 12 digits of that one's id come first. */
const temporaryName = /^([0-9a-f]{12})_(.+)$/;

export const hasTemporaryName = ({ name }: Pick<Container, 'name'>): boolean => temporaryName.test(name);

/** The name that such a container is to get in the end; its own where it has no temporary one. */
export const finalName = ({ name }: Pick<Container, 'name'>): string => temporaryName.exec(name)?.[2] ?? name;

/** Whether compose has joined the container's name so: by `_` with `--compatibility`, otherwise by `-`. */
export function isJoinedBy(separator: '_' | '-', container: Pick<Container, 'name' | 'labels'>): boolean {
  const project = container.labels[composeLabels.project] ?? '';
  return container.name === [project, serviceOf(container), numberOf(container)].join(separator);
}

/**
 * Services whose containers are called `project_service_1`. What runs decides, as compose renames whatever it replaces;
 * a service whose containers tell nothing (`container_name`) goes with the others, as the names in its links are made so.
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

/** Whether compose made the first container to take the second one's place. */
export const isMadeFor = ({ name }: Container, { id }: Container): boolean => {
  const prefix = temporaryName.exec(name)?.[1];
  return prefix !== undefined && id.startsWith(prefix);
};

/** A compose call had made it, under its temporary name, and has not started it. */
export const wasToBeStarted = (container: Container): boolean =>
  hasTemporaryName(container) && container.status === 'created';

/** A compose call had made it in another's place, and named it, and has not started it. */
export const wasNotYetStarted = ({ status, labels }: Container): boolean =>
  status === 'created' && labels[composeLabels.replaces] !== undefined;

/** It only runs a hook of its service. Compose 5.3 labels such a container with project, service and version alone. */
export const isHook = ({ labels }: Pick<Container, 'labels'>): boolean =>
  labels[composeLabels.hook] !== undefined ||
  (labels[composeLabels.number] === undefined && labels[composeLabels.oneOff] === undefined);

/** What the engine has of a compose project, without containers that are for `docker compose run` or for a hook. */
export interface ProjectContainers {
  /** By their numbers. Among them those that never got their final name and whose predecessor is gone. */
  containers: readonly Container[];
  /**
   * Made under a temporary name, not started, and beside the container that it is to replace, or that has its place by now:
   * by a compose call that is under way, or by one that was killed there.
   */
  leftovers: readonly Container[];
}

/** A compose call has stopped it to replace it, and has not come to removing it: it was up, and so must its successor be. */
export const wasBeingReplaced = (container: Container, leftovers: readonly Container[]): boolean =>
  !isUp(container) && leftovers.some((leftover) => isMadeFor(leftover, container));

/** Of which containers to ask, and which events to hear. */
export const ofProject = (project: string) => ({ label: [`${composeLabels.project}=${project}`] });

/** An earlier look at a project. */
interface EarlierLook {
  containers: readonly Container[];
  /** The services whose containers are inspected again in any case. */
  services: ReadonlySet<string>;
}

/**
 * @param earlier of other services a container of which the list tells the same is as it was then: a project may have a
 * hundred that are none of the run's business
 */
export async function listProject(
  engine: Engine,
  project: string,
  earlier: EarlierLook = { containers: [], services: new Set() },
): Promise<ProjectContainers> {
  const listed = await engine.listContainers(ofProject(project));
  const own = listed.filter(
    (container) => container.labels[composeLabels.oneOff] !== 'True' && !isHook(container),
  );
  const others = earlier.containers.filter((each) => !earlier.services.has(serviceOf(each)));
  const same = others.filter(({ id, name, status }) =>
    own.some((each) => each.id === id && each.name === name && each.status === status),
  );
  const asked = own.flatMap(({ id }) => (same.some((each) => each.id === id) ? [] : [id]));
  return sortOut([...same, ...(await engine.inspectContainers(asked))]);
}

/** Tells compose's leftovers apart from the others. */
export function sortOut(all: readonly Container[]): ProjectContainers {
  const isLeftover = (container: Container) =>
    wasToBeStarted(container) &&
    all.some(
      (other) => other !== container && (isMadeFor(container, other) || other.name === finalName(container)),
    );
  return {
    containers: all.filter((container) => !isLeftover(container)).sort(byNumber),
    leftovers: all.filter(isLeftover),
  };
}
