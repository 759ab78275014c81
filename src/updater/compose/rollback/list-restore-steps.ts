import type { ContainerSnapshot } from '../../../engine/containers/container-snapshot.ts';
import type { ProjectContainers } from '../../../engine/containers/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import {
  type ContainerRecord,
  isAddedContainer,
  isPreviousContainer,
  type Rollout,
  serviceContainerRecordsOf,
} from '../../run/state/rollout.ts';

export type RestoreStep =
  /**
   * New containers, which are removed to free their names. The removal is safe, because the new version has not been
   * started.
   */
  | { kind: 'remove-new'; containers: readonly Container[] }
  /**
   * The container must be recreated: the engine cannot start it, or its namespace belongs to a recreated container.
   */
  | { kind: 'remove-orphan'; service: string; record: ContainerRecord }
  | { kind: 'rebuild'; service: string; record: ContainerRecord }
  /** The container must be recreated, but its configuration is not in the journal. */
  | { kind: 'give-up'; service: string; record: ContainerRecord }
  /** The container exists, but is no longer connected to these networks. */
  | { kind: 'connect'; service: string; record: ContainerRecord; networks: readonly string[] }
  | { kind: 'start'; service: string; record: ContainerRecord }
  /**
   * The container must be stopped: another `up` has started it, or it still uses a restarted container's old namespace.
   */
  | { kind: 'stop-old'; service: string; record: ContainerRecord }
  /** Containers to wait for, because they were running and healthy before the update. */
  | { kind: 'await-old'; records: readonly ContainerRecord[] }
  /** All containers are compared with their previous state. */
  | { kind: 'compare'; records: readonly ContainerRecord[] };

/**
 * Plans the remaining steps that restore the old containers. Each container is kept, reconnected, started or recreated.
 * @param now - containers of the project, including compose's leftovers, and the container snapshots in the journal
 * @param own - old ids of the containers that this process has recreated, and of those that it has started
 */
export function listRestoreSteps(
  rollout: Rollout,
  now: { containers: readonly Container[]; blueprints: readonly ContainerSnapshot[] },
  own: { rebuilt: ReadonlySet<string>; started: ReadonlySet<string> },
): RestoreStep[] {
  const there = new Map(now.containers.map((container) => [container.id, container] as const));
  const snapshots = new Map(now.blueprints.map((snapshot) => [snapshot.id, snapshot] as const));
  const steps: RestoreStep[] = [];
  const fresh = now.containers.filter((container) => isAddedContainer(rollout, container));
  if (fresh.length > 0) steps.push({ kind: 'remove-new', containers: fresh });

  let isAnyRebuilt = false;
  let isAnyStarted = false;
  const all: ContainerRecord[] = [];
  for (const { name: service, follows } of rollout.moved) {
    for (const record of serviceContainerRecordsOf(rollout, service)) {
      const container = there.get(record.id);
      const snapshot = snapshots.get(record.id);
      // The engine does not start a container that is marked dead, so such a container is recreated.
      const isDead = container?.status === 'dead';
      const isCutOff: boolean = follows && isAnyRebuilt && !own.rebuilt.has(record.id);
      const isOrphan: boolean = container !== undefined && (isCutOff || isDead);
      const isRebuilt: boolean = container === undefined || isOrphan;
      if (isRebuilt && snapshot === undefined) {
        steps.push({ kind: 'give-up', service, record });
        break;
      }
      all.push(record);
      if (isOrphan) steps.push({ kind: 'remove-orphan', service, record });
      if (isRebuilt) steps.push({ kind: 'rebuild', service, record });
      isAnyRebuilt ||= isRebuilt || own.rebuilt.has(record.id);
      const networks = isRebuilt ? [] : missingNetworks(snapshot, container);
      if (networks.length > 0) steps.push({ kind: 'connect', service, record, networks });
      const isRunning = !isRebuilt && container !== undefined && isUp(container);
      if (!record.runs) {
        if (isRunning) steps.push({ kind: 'stop-old', service, record });
        continue;
      }
      // A restarted container has a new namespace. Services in its old namespace must also be restarted.
      const isStale: boolean = follows && isAnyStarted && isRunning && !own.started.has(record.id);
      if (isStale) steps.push({ kind: 'stop-old', service, record });
      // Always start the container after a reconnection. If reconnecting fails, the container is recreated and is then
      // not running.
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

const missingNetworks = (
  snapshot: ContainerSnapshot | undefined,
  container: Container | undefined,
): string[] =>
  Object.keys(snapshot?.networks ?? {}).filter((network) => !container?.networks.includes(network));

/** Known stop requests of the run that is being rolled back. */
export interface KnownStopRequests {
  /** Whether the run was killed. The engine does not report stops that a killed run requested. */
  wasKilled?: boolean;
  /** Ids of containers that are being stopped, according to engine events. */
  stopping?: readonly string[];
}

/**
 * Finds running old containers that may exit at any moment, because a stop may have been requested. An inspection does
 * not show such requests. A paused container has no stop request.
 */
export function findStoppingContainers(
  rollout: Rollout,
  { containers, leftovers }: ProjectContainers,
  { wasKilled = false, stopping = [] }: KnownStopRequests = {},
): Container[] {
  const all = [...containers, ...leftovers];
  const hasBegun = (service: string) =>
    all.some((container) => serviceOf(container) === service && !isPreviousContainer(rollout, container)) ||
    serviceContainerRecordsOf(rollout, service).some(
      ({ id, down }) => !down && !all.some((container) => container.id === id && isUp(container)),
    );
  // A killed run may have requested a stop of any service. Otherwise, stops may have been requested for workers and
  // partly replaced services.
  const told = rollout.moved
    .filter(({ runsOnce }) => !runsOnce)
    .filter(({ name, isApp, follows }) => wasKilled || (!isApp && !follows) || hasBegun(name))
    .map(({ name }) => name);
  return containers.filter(
    (container) =>
      container.status === 'running' &&
      (told.includes(serviceOf(container)) || stopping.includes(container.id)) &&
      isPreviousContainer(rollout, container),
  );
}

/** Returns the project's containers. Each recreated container gets the id of the container that it replaced. */
export function assignOldContainerIds(
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
 * Returns the names of old containers that have been removed since the restore began, or are now being removed.
 * @param there - ids of the containers that existed when the restore began
 */
export function listRemovedContainers(
  { moved, containers }: Rollout,
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
