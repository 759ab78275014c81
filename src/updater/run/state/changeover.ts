import { hasTemporaryName } from '../../../engine/api/project-containers.ts';
import {
  type Container,
  hasEndedWell,
  hasStarted,
  isUp,
  numberOf,
  serviceOf,
} from '../../../engine/container.ts';
import { runSameImage, runsImage } from '../../../engine/same-image.ts';
import type { Changeover, ContainerRecord, MovedService } from './journal-shape.ts';

export type { Changeover, ContainerRecord, MovedService } from './journal-shape.ts';

/** Whether a container that is stopped today was not meant to be. */
export type WasInterrupted = (container: Container) => boolean;

/** Restarted by the engine, and up for less long than that, a container may be between two crashes. */
const steadyMs = 15_000;

/** What the engine has restarted, and no health check has called well since: only the engine's clock tells how long it is up. */
export const mayBeCrashing = ({ restartCount, status, health }: Container): boolean =>
  restartCount > 0 && status === 'running' && health !== 'healthy';

/** @param engineTime of the engine's clock, in milliseconds, where one may be crashing */
export function recordOf(
  container: Container,
  wasInterrupted: WasInterrupted,
  engineTime = Number.NaN,
): ContainerRecord {
  const { id, name, imageId, imageManifest, imageReference: reference, startedAt } = container;
  const down = !isUp(container);
  const runs = !down || wasInterrupted(container);
  const place = { service: serviceOf(container), number: numberOf(container) };
  // A paused container answers nobody; it comes back paused, and is not waited for.
  const isCrashing =
    mayBeCrashing(container) &&
    (container.health === 'starting' || engineTime - Date.parse(startedAt) < steadyMs);
  const well =
    runs &&
    !isCrashing &&
    container.health !== 'unhealthy' &&
    !['restarting', 'paused'].includes(container.status);
  const image = { imageId, ...(imageManifest !== null && { imageManifest }) };
  const { failing } = container.healthCheck;
  const failed = container.health === 'unhealthy' && failing !== null && { failing };
  return { id, name, ...place, ...image, reference, startedAt, runs, down, well, ...failed };
}

export const isBefore = ({ containers }: Changeover, { id }: Container): boolean =>
  containers.some((record) => record.id === id);

export const recordsOf = (changeover: Changeover | null, name: string): ContainerRecord[] =>
  (changeover?.containers ?? []).filter((record) => record.service === name);

/** A container of the new version: not one from before, and not of the image from before. */
export function isNew(changeover: Changeover, container: Container): boolean {
  if (isBefore(changeover, container)) return false;
  const name = serviceOf(container);
  return (
    changeover.moved.some((moved) => moved.name === name && !moved.added?.isSeparate) &&
    !recordsOf(changeover, name).some((record) => runSameImage(record, container))
  );
}

/** Whether the very version that is to be brought is what all have and has run: there is no older one to go back to. */
export const isThereAlready = ({ moved }: Changeover, now: readonly Container[]): boolean =>
  moved.every(({ name, isApp, image }) =>
    now
      .filter((container) => serviceOf(container) === name)
      .every((each) => (image === null || runsImage(each, image)) && (!isApp || hasStarted(each))),
  );

/** Whether any container of the new version has run: from then on there is no way back. */
export const newHasStarted = (changeover: Changeover, now: readonly Container[]): boolean =>
  now.some(
    (container) => hasStarted(container) && (isNew(changeover, container) || hasRun(changeover, container)),
  );

/** Started since the changeover was planned, what runs once: `up` starts a container of the right image as it is. */
const hasRun = (changeover: Changeover, container: Container): boolean =>
  changeover.moved.some(({ name, runsOnce }) => runsOnce && name === serviceOf(container)) &&
  !changeover.containers.some(
    ({ id, startedAt }) => id === container.id && startedAt === container.startedAt,
  );

/** The replicas of a service that must run in the end; of the app all. */
export const mustRun = (moved: MovedService, { runs }: Pick<ContainerRecord, 'runs'>): boolean =>
  !moved.runsOnce && !moved.isRemoved && (moved.isApp || runs);

/** The one in whose place a container is. */
export const recordInPlaceOf = (
  { containers }: Changeover,
  container: Container,
): ContainerRecord | undefined =>
  containers.find(
    ({ service, number }) => service === serviceOf(container) && number === numberOf(container),
  );

/** It was down before, and so it is afterwards, although it is another one: made, and never started. */
export function staysDown(changeover: Changeover, container: Container): boolean {
  const moved = changeover.moved.find(({ name }) => name === serviceOf(container));
  const record = recordInPlaceOf(changeover, container);
  return (
    moved !== undefined && (moved.runsOnce === true || (record !== undefined && !mustRun(moved, record)))
  );
}

/** Nothing is left to do for this service. */
export function isDone(changeover: Changeover, moved: MovedService, now: readonly Container[]): boolean {
  const own = now.filter((container) => serviceOf(container) === moved.name);
  return (
    own.length === toRun(changeover, moved) &&
    own.every((container) => {
      if (moved.image !== null && !runsImage(container, moved.image)) return false;
      if (moved.runsOnce) return hasRun(changeover, container) && hasEndedWell(container);
      if (moved.added) return hasStarted(container) && !hasTemporaryName(container);
      const record = recordInPlaceOf(changeover, container);
      if (!record || record.id === container.id || hasTemporaryName(container)) return false;
      return mustRun(moved, record) ? hasStarted(container) : !isUp(container);
    })
  );
}

/** How many containers a service gets; what runs once may have had none, as they are removed by any clean-up. */
export const toRun = (changeover: Changeover, { name, runsOnce, added, isRemoved }: MovedService): number =>
  isRemoved ? 0 : recordsOf(changeover, name).length || (added?.replicas ?? (runsOnce ? 1 : 0));

/** By service, the ids of the containers there are `now` that are to run. */
export function idsToRun(changeover: Changeover, now: readonly Container[]): Map<string, string[]> {
  return new Map(
    changeover.moved.flatMap((moved) => {
      const ids = now
        .filter((container) => serviceOf(container) === moved.name)
        .filter((container) => mustRun(moved, recordInPlaceOf(changeover, container) ?? { runs: true }))
        .map(({ id }) => id);
      return ids.length > 0 ? [[moved.name, ids] as const] : [];
    }),
  );
}
