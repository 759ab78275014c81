import { requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import {
  finalNameOf,
  hasTemporaryName,
  isStoppedForReplacement,
  isUnstartedWithTemporaryName,
  listProjectContainers,
  type ProjectContainers,
  projectFilterOf,
} from '../../../engine/containers/project-containers.ts';
import { type Container, serviceOf } from '../../../engine/objects/container.ts';
import { RetryableError } from '../../run/run-steps.ts';
import {
  type Rollout,
  requiredContainerCountOf,
  requiredContainerIdsOf,
  serviceContainerRecordsOf,
  shouldRunContainer,
  shouldStayStopped,
} from '../../run/state/rollout.ts';
import { awaitConcurrentCompose } from '../concurrent-changes/await-concurrent-compose.ts';
import {
  type ConcurrentComposeRules,
  ConcurrentComposeWatch,
} from '../concurrent-changes/concurrent-compose-watch.ts';
import { awaitHealthyServices } from '../health/await-healthy.ts';
import type { HealthReport, WatchedService } from '../health/health-evaluator.ts';
import type { ReplacementContext } from '../replace/replacement.ts';
import { removeLeftoverContainers, renameContainers, startContainers } from '../replace/stop-containers.ts';

/** Time in ms for which containers may be missing while another process replaces them. */
const missingMs = 10_000;
/** Maximum number of waits for services whose containers other commands keep replacing. */
const tries = 5;

/**
 * Waits until all containers of the updated services exist, are healthy and have their final names, and no other
 * command is replacing them. Returns the health reports, and the containers from the last inspection, which need not
 * include the current containers of other services.
 * @param app - service that must run longer than other services to count as healthy
 * @param first - containers of the updated services if they were just listed, otherwise null
 * @throws RetryableError; UpdateError broken
 */
export async function awaitUpdatedServices(
  work: ReplacementContext,
  app: string,
  first: ProjectContainers | null = null,
): Promise<{ reports: HealthReport[]; found: ProjectContainers }> {
  const { engine, compose, changeover: rollout, options, starts } = work;
  const failedBefore = (container: Container) =>
    serviceContainerRecordsOf(rollout, serviceOf(container)).some(
      ({ failing }) => failing !== undefined && failing === container.healthCheck.failureText,
    );
  const rules = {
    app,
    timeoutMs: options.limits.waitTimeoutMs,
    missingToleranceMs: missingMs,
    starts,
    failedBefore,
  };
  const about = projectFilterOf(compose.project.name);
  const { isBusy, seen } = await finishConcurrentCompose(work, first);
  const rulesOfOthers = concurrentComposeRulesOf(rollout);
  const watch = new ConcurrentComposeWatch(rulesOfOthers, performance.now());
  const list = (containers: readonly Container[]) =>
    listProjectContainers(engine, compose.project.name, {
      containers,
      services: rulesOfOthers.services,
      listsOnlyServices: containers.length > 0,
    });
  let found = seen ?? (await list([]));
  let isNew = true;
  const look = async () => {
    if (!isNew) found = await list(found.containers);
    isNew = false;
    // If another compose command has begun to replace containers, try again. That command may have been killed, so
    // waiting could be useless.
    if (!isBusy && watch.evaluate(found, performance.now()).kind !== 'quiet')
      throw createConcurrentComposeError(app);
    return listWatchedServices(rollout, found.containers);
  };
  const reports = await awaitHealthyServices(work, { eventFilters: about, inspect: look }, rules);
  const isOpen = (container: Container) =>
    hasTemporaryName(container) && isOfUpdatedService(rollout, container);
  if ([...found.leftovers, ...found.containers].some(isOpen)) throw createConcurrentComposeError(app);
  return { reports, found };
}

/** Creates the error for another compose command that has begun to replace the awaited containers. */
const createConcurrentComposeError = (app: string) =>
  new RetryableError(
    `wait for ${app}`,
    new UpdateError('broken', 'another process keeps replacing the same containers'),
    {
      tries,
    },
  );

const concurrentComposeRulesOf = (rollout: Rollout): ConcurrentComposeRules => ({
  services: new Set(rollout.moved.map(({ name }) => name)),
  ignores: (container) => shouldStayStopped(rollout, container),
});

const isOfUpdatedService = ({ moved }: Rollout, container: Container): boolean =>
  moved.some(({ name }) => name === serviceOf(container));

/**
 * Waits for a concurrent compose command that is replacing new containers. Returns whether a command is still active.
 * If `seen` is null, the containers must be listed again.
 */
async function finishConcurrentCompose(
  work: ReplacementContext,
  first: ProjectContainers | null,
): Promise<{ isBusy: boolean; seen: ProjectContainers | null }> {
  const { changeover: rollout } = work;
  const project = work.compose.project.name;
  const quiet = await awaitConcurrentCompose(work, project, concurrentComposeRulesOf(rollout), first).catch(
    (error) => {
      const { message } = requireUpdateError(error, 'compose-busy');
      work.log.warn(`${message}; continuing without waiting any longer`);
      return null;
    },
  );
  const debris = (quiet?.debris ?? []).filter((container) => !shouldStayStopped(rollout, container));
  const leftovers = debris.filter(({ id }) => quiet?.leftovers.some((leftover) => leftover.id === id));
  await removeLeftoverContainers(work, leftovers);
  const seen =
    quiet === null || leftovers.length > 0 ? await listProjectContainers(work.engine, project) : quiet;
  const own = seen.containers.filter((container) => isOfUpdatedService(rollout, container));
  const nameless = own.filter(
    (container) =>
      hasTemporaryName(container) &&
      // A container that another command is about to rename and start is left to that command.
      (!isUnstartedWithTemporaryName(container) || debris.some(({ id }) => id === container.id)),
  );
  await renameContainers(work, nameless);
  // This run creates no more containers, so start the containers that a killed command stopped or never started
  // (docs/contract.md 2.18).
  const toStart = own.filter(
    (container) =>
      debris.some(({ id }) => id === container.id) ||
      (isStoppedForReplacement(container, leftovers) && !shouldStayStopped(rollout, container)),
  );
  await startContainers(
    work,
    toStart.map((container) => ({ id: container.id, name: finalNameOf(container) })),
  );
  return { seen: nameless.length + toStart.length > 0 ? null : seen, isBusy: quiet === null };
}

/**
 * For each updated service, returns the containers that must run, and the numbers of existing and required containers.
 */
export function listWatchedServices(rollout: Rollout, now: readonly Container[]): WatchedService[] {
  const ids = requiredContainerIdsOf(rollout, now);
  const lasting = rollout.moved.filter(({ runsOnce, isRemoved }) => !runsOnce && !isRemoved);
  return lasting.map((moved) => {
    const total = requiredContainerCountOf(rollout, moved);
    const all = now.filter((container) => serviceOf(container) === moved.name);
    const containers = all.filter(({ id }) => ids.get(moved.name)?.includes(id));
    const running = serviceContainerRecordsOf(rollout, moved.name).filter((each) =>
      shouldRunContainer(moved, each),
    );
    const needs = moved.added ? total : running.length;
    const isShort = all.length >= total && containers.length < needs;
    return isShort
      ? { name: moved.name, containers, has: containers.length, needs }
      : { name: moved.name, containers, has: all.length, needs: total };
  });
}
