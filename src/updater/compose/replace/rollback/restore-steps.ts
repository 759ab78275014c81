import type { Blueprint } from '../../../../engine/api/blueprint.ts';
import type { ProjectContainers } from '../../../../engine/api/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../../engine/container.ts';
import { type Changeover, type ContainerRecord, isBefore, recordsOf } from '../../../run/state/changeover.ts';

/** What brings the old containers back. */
export type RestoreStep =
  /** Nothing of the new version has started: what is not from before may go, and with it the name that it holds. */
  | { kind: 'remove-new'; containers: readonly Container[] }
  /** The container lives in a namespace of one that is gone, and needs that of the successor. */
  | { kind: 'remove-orphan'; service: string; record: ContainerRecord }
  | { kind: 'rebuild'; service: string; record: ContainerRecord }
  /** The container no longer exists, and its configuration is not in the journal. */
  | { kind: 'give-up'; service: string; record: ContainerRecord }
  /** The container is there, and no longer in these networks. */
  | { kind: 'connect'; service: string; record: ContainerRecord; networks: readonly string[] }
  | { kind: 'start'; service: string; record: ContainerRecord }
  /** The container was stopped before, and another `up` has started it. */
  | { kind: 'stop-old'; service: string; record: ContainerRecord }
  /** The containers that ran and were well. */
  | { kind: 'await-old'; records: readonly ContainerRecord[] }
  /** All of them are held against what they were. */
  | { kind: 'compare'; records: readonly ContainerRecord[] };

/**
 * What is left to do until the old containers are back: unchanged, reconnected, started, or recreated.
 * @param now the containers of the project, compose's leftovers among them, and what the journal can make again
 * @param own ids of the containers that this process has recreated and started
 */
export function restoreSteps(
  changeover: Changeover,
  now: { containers: readonly Container[]; blueprints: readonly Blueprint[] },
  own: { rebuilt: ReadonlySet<string>; started: ReadonlySet<string> } = noneYet,
): RestoreStep[] {
  const there = new Map(now.containers.map((container) => [container.id, container] as const));
  const blueprints = new Map(now.blueprints.map((blueprint) => [blueprint.id, blueprint] as const));
  const steps: RestoreStep[] = [];
  const fresh = now.containers.filter(
    (container) =>
      changeover.moved.some(({ name }) => name === serviceOf(container)) && !isBefore(changeover, container),
  );
  if (fresh.length > 0) steps.push({ kind: 'remove-new', containers: fresh });

  let isAnyRebuilt = false;
  let isAnyStarted = false;
  const all: ContainerRecord[] = [];
  for (const { name: service, follows } of changeover.moved) {
    for (const record of recordsOf(changeover, service)) {
      const container = there.get(record.id);
      const blueprint = blueprints.get(record.id);
      // The engine starts no container that it has marked dead.
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
      // A namespace is another one after a restart of its container; a follower that runs on is left in the old one.
      const isStale: boolean = follows && isAnyStarted && isRunning && !own.started.has(record.id);
      if (isStale) steps.push({ kind: 'stop-old', service, record });
      // A container that cannot be connected is made again, and does not run then.
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

const missingNetworks = (blueprint: Blueprint | undefined, container: Container | undefined): string[] =>
  Object.keys(blueprint?.networks ?? {}).filter((network) => !container?.networks.includes(network));

/** What is known of stops that the run which is put back has begun. */
export interface StopsUnderWay {
  /** The run was killed: it may have told any container that still runs to stop, and the engine does not tell which. */
  wasKilled?: boolean;
  /** Ids of containers that the engine was heard to stop. */
  stopping?: readonly string[];
}

/**
 * What runs of the containers that were to be replaced, and may have been told to stop: it ends any moment, and inspecting
 * it does not tell of that. After a kill that is everything; else the workers, which are stopped before all else, and a service of
 * which compose has replaced a part, and what the engine was heard to stop. A paused one was told nothing.
 */
export function mayBeStopping(
  changeover: Changeover,
  { containers, leftovers }: ProjectContainers,
  { wasKilled = false, stopping = [] }: StopsUnderWay = {},
): Container[] {
  const all = [...containers, ...leftovers];
  const hasBegun = (service: string) =>
    all.some((container) => serviceOf(container) === service && !isBefore(changeover, container)) ||
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
      isBefore(changeover, container),
  );
}

/** The containers of the project; a container that was made again has the id of the one from before. */
export function withOldIds(
  { containers, leftovers }: ProjectContainers,
  successors: ReadonlyMap<string, string>,
): Container[] {
  const stands = new Map([...successors].map(([old, id]) => [id, old] as const));
  return [...containers, ...leftovers].map((container) => ({
    ...container,
    id: stands.get(container.id) ?? container.id,
  }));
}

/** Names of old containers that were there, and are gone or about to go. @param there ids of the old ones */
export function removedContainers(
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
