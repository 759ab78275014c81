import { hasTemporaryName, type ProjectContainers } from '../../../engine/api/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/container.ts';
import {
  type Changeover,
  isBefore,
  isDone,
  type MovedService,
  mustRun,
  recordsOf,
  staysDown,
  toRun,
} from '../../run/state/changeover.ts';

/** What replaces the containers. */
export type ReplaceStep =
  | { kind: 'remove-leftovers'; containers: readonly Container[] }
  /** A killed `up` had removed the old one and not named the new one yet; it holds the anonymous volumes. */
  | { kind: 'give-name'; containers: readonly Container[] }
  | { kind: 'stop'; service: string; containers: readonly Container[] }
  /** `hook`: it runs commands of the new image before a container starts. */
  | { kind: 'up'; service: string; scale: number; start: boolean; force: boolean; hook?: true }
  /** It runs to its end before anything that comes after it. */
  | { kind: 'run-once'; service: string; scale: number; hook?: true }
  | { kind: 'await-healthy'; service: string; dependent: string }
  /** Containers of a service that the release no longer has. */
  | { kind: 'remove-old'; service: string; containers: readonly Container[] }
  /** Containers of a service of which some were stopped: `up` starts all. */
  | { kind: 'stop-again'; service: string; containers: readonly Container[] };

/**
 * Seconds. A request that takes longer may be cut off by whatever stands between compose and the engine; compose 5 may
 * then go on as if it had been answered, and remove by force what has not stopped yet. What may take longer is stopped by
 * the run itself, which asks again.
 */
const longestStopOfCompose = 30;

/**
 * What is left to do, from what there is `now`: everything in an ordinary run, the rest after a kill. The order keeps the
 * app away for the shortest time, and leaves nothing of the new version started when the new app cannot even start: the
 * services that the release adds start, the old workers stop while the old app still answers, then migrations run, then the
 * app is replaced, then the workers, then the services in their namespaces. Services that the release no longer has
 * are removed last. Compose stops what it replaces once it has made the new container.
 * @param isReplaced whether this process has replaced all containers of a service already
 */
export function replaceSteps(
  changeover: Changeover,
  now: ProjectContainers,
  isReplaced: (service: string) => boolean = () => false,
): ReplaceStep[] {
  const undone = changeover.moved.filter(
    (moved) => !isReplaced(moved.name) && !isDone(changeover, moved, now.containers),
  );
  // Where all lasting services are done, a migration whose container somebody has removed since is not run again.
  const pending = undone.some(({ runsOnce }) => !runsOnce) ? undone : [];
  const names = new Set(pending.map(({ name }) => name));
  const own = now.containers.filter((container) => names.has(serviceOf(container)));
  const steps: ReplaceStep[] = [];
  // `up` starts all containers of a service.
  for (const { name } of changeover.moved.filter((moved) => !moved.runsOnce && isReplaced(moved.name))) {
    const isExtra = (each: Container) =>
      serviceOf(each) === name && isUp(each) && staysDown(changeover, each);
    const containers = now.containers.filter(isExtra);
    if (containers.length > 0) steps.push({ kind: 'stop-again', service: name, containers });
  }
  // Leftovers are removed only of services that compose is still to be called for: those of any other service belong to
  // another compose call, which is about to remove the old container.
  const leftovers = now.leftovers.filter((container) => names.has(serviceOf(container)));
  if (leftovers.length > 0) steps.push({ kind: 'remove-leftovers', containers: leftovers });
  const nameless = own.filter(hasTemporaryName);
  if (nameless.length > 0) steps.push({ kind: 'give-name', containers: nameless });

  const oldOf = ({ name }: MovedService) =>
    own.filter((each) => serviceOf(each) === name && isBefore(changeover, each));
  const stop = (moved: MovedService, which: (old: Container) => boolean) => {
    const containers = oldOf(moved).filter((old) => isUp(old) && which(old));
    if (containers.length > 0) steps.push({ kind: 'stop', service: moved.name, containers });
  };
  const isStoppedFirst = ({ isApp, follows, runsOnce }: MovedService) => !isApp && !follows && !runsOnce;
  const starts = (moved: MovedService) =>
    moved.added !== undefined || recordsOf(changeover, moved.name).some((record) => mustRun(moved, record));
  const awaitThose = (moved: MovedService, which: (service: string) => boolean) => {
    if (moved.follows || !(starts(moved) || moved.runsOnce)) return;
    for (const service of moved.awaits.filter(which))
      steps.push({ kind: 'await-healthy', service, dependent: moved.name });
  };
  const bringUp = (moved: MovedService) => {
    const start = starts(moved);
    awaitThose(moved, (service) => !(later.includes(moved) && isThere(service)));
    if (moved.runsOnce) {
      const hook = moved.hasStartHook && { hook: true as const };
      steps.push({ kind: 'run-once', service: moved.name, scale: toRun(changeover, moved), ...hook });
      return;
    }
    if (!isStoppedFirst(moved)) stop(moved, ({ stopTimeout }) => stopTimeout > longestStopOfCompose);
    steps.push({
      kind: 'up',
      service: moved.name,
      scale: toRun(changeover, moved),
      start,
      // Compose would not replace a follower whose own definition stays; one that is new already is only started.
      force: moved.follows && oldOf(moved).length > 0,
      ...(start && moved.hasStartHook && { hook: true }),
    });
  };
  const lasting = pending.filter(({ isRemoved }) => !isRemoved);
  // Services that the release adds are started and awaited before anything stops, unless they need a migration.
  const at = lasting.findIndex(({ added }) => added === undefined);
  const later = at < 0 ? [] : lasting.slice(at);
  const isThere = (service: string) =>
    changeover.moved.some(({ name, added }) => added && name === service) &&
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
