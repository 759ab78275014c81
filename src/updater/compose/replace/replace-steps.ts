import { hasTemporaryName, type ProjectContainers } from '../../../engine/containers/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import {
  isPreviousContainer,
  isServiceUpdated,
  type Rollout,
  requiredContainerCountOf,
  serviceContainerRecordsOf,
  shouldRunContainer,
  shouldStayStopped,
  type UpdatedService,
} from '../../run/state/rollout.ts';

export type ReplaceStep =
  | { kind: 'remove-leftovers'; containers: readonly Container[] }
  /**
   * New containers that do not have their final names, because `up` was killed after it had removed the old containers.
   * The new containers are kept, because they have the anonymous volumes.
   */
  | { kind: 'give-name'; containers: readonly Container[] }
  | { kind: 'stop'; service: string; containers: readonly Container[] }
  /**
   * Compose creates each new container before it stops the old one. With `hook`, compose first runs commands with the
   * new image.
   */
  | { kind: 'up'; service: string; scale: number; start: boolean; force: boolean; hook?: true }
  /** The service must run to completion before the next step. */
  | { kind: 'run-once'; service: string; scale: number; hook?: true }
  | { kind: 'await-healthy'; service: string; dependent: string }
  /** Containers of a service that the release no longer has. */
  | { kind: 'remove-old'; service: string; containers: readonly Container[] }
  /** Containers that must be stopped again, because `up` started all containers of their service. */
  | { kind: 'stop-again'; service: string; containers: readonly Container[] };

/**
 * Longest grace period in seconds with which compose may stop a container. This run itself stops containers with longer
 * grace periods, because a proxy in front of the engine may cut off compose's long request. Compose 5 may then remove
 * the running container by force.
 */
const maxComposeGraceSeconds = 30;

/**
 * Plans the remaining steps: start added services, stop old workers, run migrations, replace the app, workers and
 * services in their namespaces, remove old services. In this order, the app's downtime is short, and no new worker runs
 * if the new app cannot start.
 * @param now - existing containers of the project
 * @param isReplaced - whether this process has already replaced all containers of a service
 */
export function listReplaceSteps(
  rollout: Rollout,
  now: ProjectContainers,
  isReplaced: (service: string) => boolean = () => false,
): ReplaceStep[] {
  const undone = rollout.moved.filter(
    (moved) => !isReplaced(moved.name) && !isServiceUpdated(rollout, moved, now.containers),
  );
  // If only migrations are undone, nothing is pending: a migration must not run again just because its container was
  // removed.
  const pending = undone.some(({ runsOnce }) => !runsOnce) ? undone : [];
  const names = new Set(pending.map(({ name }) => name));
  const own = now.containers.filter((container) => names.has(serviceOf(container)));
  const steps: ReplaceStep[] = [];
  // `up` has started all containers of a service, including those that must stay stopped.
  for (const { name } of rollout.moved.filter((moved) => !moved.runsOnce && isReplaced(moved.name))) {
    const isExtra = (each: Container) =>
      serviceOf(each) === name && isUp(each) && shouldStayStopped(rollout, each);
    const containers = now.containers.filter(isExtra);
    if (containers.length > 0) steps.push({ kind: 'stop-again', service: name, containers });
  }
  // Remove only leftovers of pending services. Another compose command is still working with the other leftovers.
  const leftovers = now.leftovers.filter((container) => names.has(serviceOf(container)));
  if (leftovers.length > 0) steps.push({ kind: 'remove-leftovers', containers: leftovers });
  const nameless = own.filter(hasTemporaryName);
  if (nameless.length > 0) steps.push({ kind: 'give-name', containers: nameless });

  const oldOf = ({ name }: UpdatedService) =>
    own.filter((each) => serviceOf(each) === name && isPreviousContainer(rollout, each));
  const stop = (moved: UpdatedService, which: (old: Container) => boolean) => {
    const containers = oldOf(moved).filter((old) => isUp(old) && which(old));
    if (containers.length > 0) steps.push({ kind: 'stop', service: moved.name, containers });
  };
  const isStoppedFirst = ({ isApp, follows, runsOnce }: UpdatedService) => !isApp && !follows && !runsOnce;
  const starts = (moved: UpdatedService) =>
    moved.added !== undefined ||
    serviceContainerRecordsOf(rollout, moved.name).some((record) => shouldRunContainer(moved, record));
  const awaitThose = (moved: UpdatedService, which: (service: string) => boolean) => {
    if (moved.follows || !(starts(moved) || moved.runsOnce)) return;
    for (const service of moved.awaits.filter(which))
      steps.push({ kind: 'await-healthy', service, dependent: moved.name });
  };
  const bringUp = (moved: UpdatedService) => {
    const start = starts(moved);
    awaitThose(moved, (service) => !(later.includes(moved) && isThere(service)));
    if (moved.runsOnce) {
      const hook = moved.hasStartHook && { hook: true as const };
      steps.push({
        kind: 'run-once',
        service: moved.name,
        scale: requiredContainerCountOf(rollout, moved),
        ...hook,
      });
      return;
    }
    if (!isStoppedFirst(moved)) stop(moved, ({ stopTimeout }) => stopTimeout > maxComposeGraceSeconds);
    steps.push({
      kind: 'up',
      service: moved.name,
      scale: requiredContainerCountOf(rollout, moved),
      start,
      // Without force, compose keeps a service whose namespace changes but whose definition does not. A service without
      // old containers is only started.
      force: moved.follows && oldOf(moved).length > 0,
      ...(start && moved.hasStartHook && { hook: true }),
    });
  };
  const lasting = pending.filter(({ isRemoved }) => !isRemoved);
  // Added services become healthy before anything is stopped, unless they need a migration.
  const at = lasting.findIndex(({ added }) => added === undefined);
  const later = at < 0 ? [] : lasting.slice(at);
  const isThere = (service: string) =>
    rollout.moved.some(({ name, added }) => added && name === service) &&
    !later.some(({ name }) => name === service);
  for (const moved of lasting) if (!later.includes(moved)) bringUp(moved);
  for (const moved of later) awaitThose(moved, isThere);
  for (const worker of pending.filter(isStoppedFirst)) stop(worker, () => true);
  for (const moved of later) bringUp(moved);
  for (const { name } of pending.filter(({ isRemoved }) => isRemoved)) {
    const containers = own.filter((each) => serviceOf(each) === name);
    steps.push({ kind: 'remove-old', service: name, containers });
  }
  return steps;
}
