import { hasSameImage, isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import { hasTemporaryName } from '../../../engine/containers/project-containers.ts';
import {
  type Container,
  containerNumberOf,
  hasStarted,
  hasSucceeded,
  isUp,
  serviceOf,
} from '../../../engine/objects/container.ts';
import type { ContainerRecord, Rollout, UpdatedService } from './journal-schema.ts';

export type {
  ContainerRecord,
  Rollout,
  UpdatedService,
} from './journal-schema.ts';

/** True if a stopped container was stopped by an interruption and not on purpose. */
export type InterruptionPredicate = (container: Container) => boolean;

/** Minimum uptime in ms. A restarted container with a shorter uptime may be crashing repeatedly. */
const steadyMs = 15_000;

/**
 * True if the engine has restarted the container, and it is not healthy yet. Only its uptime by the engine's clock
 * shows whether it keeps crashing.
 */
export const mayBeCrashing = ({ restartCount, status, health }: Container): boolean =>
  restartCount > 0 && status === 'running' && health !== 'healthy';

/** @param engineTime - current time of the engine's clock, in ms; required if a container may be crashing */
export function containerRecordOf(
  container: Container,
  wasInterrupted: InterruptionPredicate,
  engineTime = Number.NaN,
): ContainerRecord {
  const { id, name, imageId, imageManifest, imageReference: reference, startedAt } = container;
  const down = !isUp(container);
  const runs = !down || wasInterrupted(container);
  const location = { service: serviceOf(container), number: containerNumberOf(container) };
  // A paused container cannot respond. It is restored as paused, and no run waits until it is healthy.
  const isCrashing =
    mayBeCrashing(container) &&
    (container.health === 'starting' || engineTime - Date.parse(startedAt) < steadyMs);
  const well =
    runs &&
    !isCrashing &&
    container.health !== 'unhealthy' &&
    !['restarting', 'paused'].includes(container.status);
  const image = { imageId, ...(imageManifest !== null && { imageManifest }) };
  const { failureText: failing } = container.healthCheck;
  const failed = container.health === 'unhealthy' && failing !== null && { failing };
  return { id, name, ...location, ...image, reference, startedAt, runs, down, well, ...failed };
}

export const isPreviousContainer = ({ containers }: Rollout, { id }: Container): boolean =>
  containers.some((record) => record.id === id);

/** True for a container that an updated service did not have before the run. */
export const isAddedContainer = (rollout: Rollout, container: Container): boolean =>
  rollout.moved.some(({ name }) => name === serviceOf(container)) && !isPreviousContainer(rollout, container);

export const serviceContainerRecordsOf = (rollout: Rollout | null, name: string): ContainerRecord[] =>
  (rollout?.containers ?? []).filter((record) => record.service === name);

/** True if the container is new and no previous container of its service has the same image. */
export function isNewContainer(rollout: Rollout, container: Container): boolean {
  if (isPreviousContainer(rollout, container)) return false;
  const name = serviceOf(container);
  return (
    rollout.moved.some((moved) => moved.name === name && !moved.added?.isSeparate) &&
    !serviceContainerRecordsOf(rollout, name).some((record) => hasSameImage(record, container))
  );
}

/** True if only the target version is running or has run. A rollback then has no older version to restore. */
export const isTargetReached = ({ moved }: Rollout, now: readonly Container[]): boolean =>
  moved.every(({ name, isApp, image }) =>
    now
      .filter((container) => serviceOf(container) === name)
      .every((each) => (image === null || isContainerOfImage(each, image)) && (!isApp || hasStarted(each))),
  );

/** Once a container of the new version has run, a rollback requires the restore point. */
export const hasNewVersionStarted = (rollout: Rollout, now: readonly Container[]): boolean =>
  now.some(
    (container) =>
      hasStarted(container) && (isNewContainer(rollout, container) || hasMigrationRun(rollout, container)),
  );

/**
 * Whether a migration was started after the update was planned. Its container may be an old one, because `up` starts an
 * existing container that has the correct image.
 */
const hasMigrationRun = (rollout: Rollout, container: Container): boolean =>
  rollout.moved.some(({ name, runsOnce }) => runsOnce && name === serviceOf(container)) &&
  !rollout.containers.some(({ id, startedAt }) => id === container.id && startedAt === container.startedAt);

/**
 * True for each replica of the app, and for each replica of another service that ran before the update. False for
 * migrations and removed services.
 */
export const shouldRunContainer = (moved: UpdatedService, { runs }: Pick<ContainerRecord, 'runs'>): boolean =>
  !moved.runsOnce && !moved.isRemoved && (moved.isApp || runs);

/** Record of the container that the given container replaces: the one with the same service and number. */
export const replacedContainerRecordOf = (
  { containers }: Rollout,
  container: Container,
): ContainerRecord | undefined =>
  containers.find(
    ({ service, number }) => service === serviceOf(container) && number === containerNumberOf(container),
  );

/** True if the container must be created but not started, because it replaces one that was not running. */
export function shouldStayStopped(rollout: Rollout, container: Container): boolean {
  const moved = rollout.moved.find(({ name }) => name === serviceOf(container));
  const record = replacedContainerRecordOf(rollout, container);
  return (
    moved !== undefined &&
    (moved.runsOnce === true || (record !== undefined && !shouldRunContainer(moved, record)))
  );
}

export function isServiceUpdated(
  rollout: Rollout,
  moved: UpdatedService,
  now: readonly Container[],
): boolean {
  const own = now.filter((container) => serviceOf(container) === moved.name);
  return (
    own.length === requiredContainerCountOf(rollout, moved) &&
    own.every((container) => {
      if (moved.image !== null && !isContainerOfImage(container, moved.image)) return false;
      if (moved.runsOnce) return hasMigrationRun(rollout, container) && hasSucceeded(container);
      if (moved.added) return hasStarted(container) && !hasTemporaryName(container);
      const record = replacedContainerRecordOf(rollout, container);
      if (!record || record.id === container.id || hasTemporaryName(container)) return false;
      return shouldRunContainer(moved, record) ? hasStarted(container) : !isUp(container);
    })
  );
}

/**
 * Number of containers that the service must have after the update. The number is 1 for a migration without a
 * container, because a clean-up may have removed the exited container.
 */
export const requiredContainerCountOf = (
  rollout: Rollout,
  { name, runsOnce, added, isRemoved }: UpdatedService,
): number =>
  isRemoved ? 0 : serviceContainerRecordsOf(rollout, name).length || (added?.replicas ?? (runsOnce ? 1 : 0));

/** Ids of the current containers that must run, keyed by service. */
export function requiredContainerIdsOf(rollout: Rollout, now: readonly Container[]): Map<string, string[]> {
  return new Map(
    rollout.moved.flatMap((moved) => {
      const ids = now
        .filter((container) => serviceOf(container) === moved.name)
        .filter((container) =>
          shouldRunContainer(moved, replacedContainerRecordOf(rollout, container) ?? { runs: true }),
        )
        .map(({ id }) => id);
      return ids.length > 0 ? [[moved.name, ids] as const] : [];
    }),
  );
}
