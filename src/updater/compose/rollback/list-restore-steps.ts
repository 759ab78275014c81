import type { ContainerSnapshot } from '../../../engine/containers/container-snapshot.ts';
import type { ProjectContainers } from '../../../engine/containers/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import {
  type Changeover,
  type ContainerRecord,
  isPreviousContainer,
  recordsOf,
} from '../../run/state/rollout.ts';

/** Step that restores the old containers. */
export type RestoreStep =
  /**
   * New containers, which are removed to free their names. They may be removed, because nothing of the new version has
   * started.
   */
  | { kind: 'remove-new'; containers: readonly Container[] }
  /**
   * The container uses a namespace of a removed container, and must be recreated in the namespace of that container's
   * successor.
   */
  | { kind: 'remove-orphan'; service: string; record: ContainerRecord }
  | { kind: 'rebuild'; service: string; record: ContainerRecord }
  /** The container no longer exists, and its configuration is not in the journal. */
  | { kind: 'give-up'; service: string; record: ContainerRecord }
  /** The container exists, but is no longer connected to these networks. */
  | { kind: 'connect'; service: string; record: ContainerRecord; networks: readonly string[] }
  | { kind: 'start'; service: string; record: ContainerRecord }
  /**
   * The container must be stopped: another `up` has started it, or it must leave the namespace of a restarted
   * container.
   */
  | { kind: 'stop-old'; service: string; record: ContainerRecord }
  /** Containers that were running and healthy before the update. */
  | { kind: 'await-old'; records: readonly ContainerRecord[] }
  /** All containers are compared with their previous state. */
  | { kind: 'compare'; records: readonly ContainerRecord[] };

/**
 * Plans the remaining steps until the old containers are restored: unchanged, reconnected, started, or recreated.
 * @param now containers of the project, including compose's leftovers, and the container snapshots in the journal
 * @param own old ids of the containers that this process has recreated, and of those that it has started
 */
export function listRestoreSteps(
  changeover: Changeover,
  now: { containers: readonly Container[]; blueprints: readonly ContainerSnapshot[] },
  own: { rebuilt: ReadonlySet<string>; started: ReadonlySet<string> } = noneYet,
): RestoreStep[] {
  const there = new Map(now.containers.map((container) => [container.id, container] as const));
  const blueprints = new Map(now.blueprints.map((blueprint) => [blueprint.id, blueprint] as const));
  const steps: RestoreStep[] = [];
  const fresh = now.containers.filter(
    (container) =>
      changeover.moved.some(({ name }) => name === serviceOf(container)) &&
      !isPreviousContainer(changeover, container),
  );
  if (fresh.length > 0) steps.push({ kind: 'remove-new', containers: fresh });

  let isAnyRebuilt = false;
  let isAnyStarted = false;
  const all: ContainerRecord[] = [];
  for (const { name: service, follows } of changeover.moved) {
    for (const record of recordsOf(changeover, service)) {
      const container = there.get(record.id);
      const blueprint = blueprints.get(record.id);
      // The engine does not start a container that is marked dead, so such a container is recreated.
      const isDead = container?.status === 'dead';
      const isCutOff: boolean = follows && isAnyRebuilt && !own.rebuilt.has(record.id);
      const isOrphan: boolean = container !== undefined && (isCutOff || isDead);
      const isRebuilt: boolean = container === undefined || isOrphan;
      if (isRebuilt && blueprint === undefined) {
        steps.push({ kind: 'give-up', service, record });
        break;
      }
      all.push(record);
      if (isOrphan) steps.push({ kind: 'remove-orphan', service, record });
      if (isRebuilt) steps.push({ kind: 'rebuild', service, record });
      isAnyRebuilt ||= isRebuilt || own.rebuilt.has(record.id);
      const networks = isRebuilt ? [] : missingNetworks(blueprint, container);
      if (networks.length > 0) steps.push({ kind: 'connect', service, record, networks });
      const isRunning = !isRebuilt && container !== undefined && isUp(container);
      if (!record.runs) {
        if (isRunning) steps.push({ kind: 'stop-old', service, record });
        continue;
      }
      // A restarted container has a new namespace. A service that shares it must restart, or it would stay in the old
      // namespace.
      const isStale: boolean = follows && isAnyStarted && isRunning && !own.started.has(record.id);
      if (isStale) steps.push({ kind: 'stop-old', service, record });
      // A start follows each reconnection, because a container that cannot be reconnected is recreated, and is then not
      // running.
      const isStarted: boolean = !isRunning || isStale || networks.length > 0;
      if (isStarted) steps.push({ kind: 'start', service, record });
      isAnyStarted ||= isStarted || own.started.has(record.id);
    }
  }
  const well = all.filter((record) => record.runs && record.well);
  if (well.length > 0) steps.push({ kind: 'await-old', records: well });
  if (all.length > 0) steps.push({ kind: 'compare', records: all });
  return steps;
}

const noneYet = { rebuilt: new Set<string>(), started: new Set<string>() };

const missingNetworks = (
  blueprint: ContainerSnapshot | undefined,
  container: Container | undefined,
): string[] =>
  Object.keys(blueprint?.networks ?? {}).filter((network) => !container?.networks.includes(network));

/** Stops that the run being rolled back has begun, as far as they are known. */
export interface PendingStops {
  /**
   * Whether the run was killed: it may have requested a stop of any running container, and the engine does not report
   * such requests.
   */
  wasKilled?: boolean;
  /** Ids of containers that are stopping according to events of the engine. */
  stopping?: readonly string[];
}

/**
 * Returns the running old containers that may have been requested to stop. They may exit at any moment, and an
 * inspection does not show the request. After a kill, these are all running old containers except migrations.
 * Otherwise, they are the workers, which are stopped first, the containers of services that compose has partly
 * replaced, and containers that are stopping according to events. A paused container was not requested to stop.
 */
export function findStoppingContainers(
  changeover: Changeover,
  { containers, leftovers }: ProjectContainers,
  { wasKilled = false, stopping = [] }: PendingStops = {},
): Container[] {
  const all = [...containers, ...leftovers];
  const hasBegun = (service: string) =>
    all.some(
      (container) => serviceOf(container) === service && !isPreviousContainer(changeover, container),
    ) ||
    recordsOf(changeover, service).some(
      ({ id, down }) => !down && !all.some((container) => container.id === id && isUp(container)),
    );
  const told = changeover.moved
    .filter(({ runsOnce }) => !runsOnce)
    .filter(({ name, isApp, follows }) => wasKilled || (!isApp && !follows) || hasBegun(name))
    .map(({ name }) => name);
  return containers.filter(
    (container) =>
      container.status === 'running' &&
      (told.includes(serviceOf(container)) || stopping.includes(container.id)) &&
      isPreviousContainer(changeover, container),
  );
}

/** Returns the containers of the project, with the old id for a container that was recreated. */
export function restoreOldIds(
  { containers, leftovers }: ProjectContainers,
  successors: ReadonlyMap<string, string>,
): Container[] {
  const stands = new Map([...successors].map(([old, id]) => [id, old] as const));
  return [...containers, ...leftovers].map((container) => ({
    ...container,
    id: stands.get(container.id) ?? container.id,
  }));
}

/**
 * Returns the names of old containers that existed when the restore began, and that have been removed since or are
 * being removed.
 * @param there ids of the containers that existed when the restore began
 */
export function listRemovedContainers(
  { moved, containers }: Changeover,
  there: ReadonlySet<string>,
  now: readonly Container[],
): string[] {
  const stays = ({ id }: ContainerRecord) =>
    now.some((container) => container.id === id && !['removing', 'dead'].includes(container.status));
  return containers
    .filter(({ service }) => moved.some(({ name }) => name === service))
    .filter((record) => there.has(record.id) && !stays(record))
    .map(({ name }) => name);
}
