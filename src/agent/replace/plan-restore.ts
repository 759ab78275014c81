import type { ProjectContainers } from '../../engine/api/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../engine/container.ts';
import { type Changeover, type ContainerRecord, isBefore, recordsOf } from '../state/changeover.ts';

/** What it takes to bring the containers from before back, in order. */
export type RestoreStep =
  /** Nothing of the new version has started: what is not from before may go, and with it the name that it holds. */
  | { kind: 'remove-new'; containers: readonly Container[] }
  /** It lives in a namespace of a container that is gone, and needs that of its successor. */
  | { kind: 'remove-orphan'; service: string; record: ContainerRecord }
  | { kind: 'rebuild'; service: string; record: ContainerRecord }
  /** It is gone, and the journal does not tell what it was made of. */
  | { kind: 'give-up'; service: string; record: ContainerRecord }
  | { kind: 'start'; service: string; record: ContainerRecord }
  /** Those that ran and were well, by service. */
  | { kind: 'await-healthy'; records: ReadonlyMap<string, readonly ContainerRecord[]> };

export type RestoreStepOf<K extends RestoreStep['kind']> = Extract<RestoreStep, { kind: K }>;

/** What the engine has of the project, and what the journal can make again. */
export interface RestoreFacts {
  /** Compose's leftovers among them. */
  containers: readonly Container[];
  /** Ids of the containers that the journal has a blueprint of. */
  blueprints: ReadonlySet<string>;
}

/** Decides how the containers from before come back: as they are, started, or made again; touches nothing. */
export function planRestore(changeover: Changeover, now: RestoreFacts): RestoreStep[] {
  const there = new Map(now.containers.map((container) => [container.id, container] as const));
  const steps: RestoreStep[] = [];
  const fresh = now.containers.filter(
    (container) =>
      changeover.moved.some(({ name }) => name === serviceOf(container)) && !isBefore(changeover, container),
  );
  if (fresh.length > 0) steps.push({ kind: 'remove-new', containers: fresh });

  let isAnyRebuilt = false;
  const well = new Map<string, ContainerRecord[]>();
  for (const { name: service, follows } of changeover.moved) {
    for (const record of recordsOf(changeover, service)) {
      const container = there.get(record.id);
      const isOrphan: boolean = container !== undefined && follows && isAnyRebuilt;
      const isRebuilt: boolean = container === undefined || isOrphan;
      if (isRebuilt && !now.blueprints.has(record.id)) {
        steps.push({ kind: 'give-up', service, record });
        break;
      }
      if (isOrphan) steps.push({ kind: 'remove-orphan', service, record });
      if (isRebuilt) steps.push({ kind: 'rebuild', service, record });
      isAnyRebuilt ||= isRebuilt;
      if (!record.runs) continue;
      if (isRebuilt || container === undefined || !isUp(container))
        steps.push({ kind: 'start', service, record });
      if (record.well) well.set(service, [...(well.get(service) ?? []), record]);
    }
  }
  if (well.size > 0) steps.push({ kind: 'await-healthy', records: well });
  return steps;
}

/**
 * What runs of the containers that were to be replaced, and may have been told to stop: it ends any moment, and no engine
 * tells of that. After a kill that is everything; else the workers, which are stopped before all else, and a service of
 * which compose has replaced a part. A paused one was told nothing.
 */
export function mayBeStopping(
  changeover: Changeover,
  { containers, leftovers }: ProjectContainers,
  wasKilled: boolean,
): Container[] {
  const all = [...containers, ...leftovers];
  const hasBegun = (service: string) =>
    all.some((container) => serviceOf(container) === service && !isBefore(changeover, container)) ||
    recordsOf(changeover, service).some(
      ({ id, down }) => !down && !all.some((container) => container.id === id && isUp(container)),
    );
  const told = changeover.moved
    .filter(({ name, isApp, follows }) => wasKilled || (!isApp && !follows) || hasBegun(name))
    .map(({ name }) => name);
  return containers.filter(
    (container) =>
      container.status === 'running' &&
      told.includes(serviceOf(container)) &&
      isBefore(changeover, container),
  );
}
