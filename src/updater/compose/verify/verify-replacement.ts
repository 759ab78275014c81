import { requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import {
  listProjectContainers,
  type ProjectContainers,
} from '../../../engine/containers/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { retryUntilDone } from '../../run/run-steps.ts';
import type { Rollout } from '../../run/state/rollout.ts';
import type { ProjectObservation } from '../concurrent-changes/require-same-containers.ts';
import { awaitHealthyContainers } from '../health/await-healthy.ts';
import type { JournaledContext, ReplacementContext } from '../replace/replacement.ts';
import { awaitUpdatedServices, listWatchedServices } from './await-services.ts';
import { runReadyCommand } from './run-ready.ts';
import { startInterruptedContainers } from './start-interrupted.ts';

/**
 * Runs the `verify` phase, which checks that the containers are healthy and run the pulled images. Warns if another
 * process has changed the project's containers. Returns the project's containers; null if they may have changed since,
 * because a command was run.
 * @param seen - containers of the updated services if they were just listed, otherwise null
 * @throws UpdateError broken; RetryableError
 */
export async function verifyReplacement(
  work: ReplacementContext,
  seen: ProjectContainers | null,
): Promise<ProjectObservation | null> {
  const { engine, log, options, journal, compose, changeover: rollout } = work;
  const verifyBy = performance.now() + options.limits.waitTimeoutMs;
  log.enterPhase('verify');
  await journal.tryWrite({ state: { at: 'verifying' } });
  const listAll = (containers: readonly Container[]) =>
    listProjectContainers(engine, compose.project.name, { containers, services: new Set() });
  const first = await awaitUpdatedServices(work, options.app, seen);
  let requestedAt = performance.now();
  let [reports, found] = [first.reports, await listAll(first.found.containers)];
  if (await startInterruptedContainers(work, found)) {
    ({ reports } = await awaitUpdatedServices(work, options.app));
    requestedAt = performance.now();
    found = await listAll([]);
  }
  const { containers } = found;
  const others = findChangedContainers(rollout, containers);
  if (others.length > 0) {
    log.warn(`another process replaced, added or removed ${others.join(', ')} during the update`);
  }
  const wrong = containers.filter((container) => hasUnexpectedImage(rollout, container));
  if (wrong.length > 0) {
    throw new UpdateError(
      'broken',
      `not running the image that was pulled: ${wrong.map(({ name }) => name).join(', ')}`,
    );
  }
  for (const { name, has, needs } of listWatchedServices(rollout, containers)) {
    if (has > needs)
      log.warn(`${name} has ${has} containers instead of ${needs}; another process added containers`);
  }
  const how = reports.map((each) => `${each.service} ${each.summary}`).join(', ');
  log.info(`${how}; ${rollout.words.runs}`);
  for (const warning of rollout.words.warnings) log.warn(warning);
  const addresses = formatChangedAddressWarning(rollout, containers);
  if (addresses) log.info(addresses);
  if (!rollout.ready) return { found, requestedAt };
  await runReadyCommand(work, rollout.ready, { project: compose.project.name, verifyBy });
  return null;
}

/**
 * Applies the health rules for a new version to containers that are not replaced (docs/contract.md 3.15).
 * @throws UpdateError unhealthy
 */
export async function verifyUnchangedServices(
  context: JournaledContext,
  services: readonly { name: string; containers: readonly Container[] }[],
  ready: readonly string[] | null,
): Promise<void> {
  const verifyBy = performance.now() + context.options.limits.waitTimeoutMs;
  context.log.enterPhase('verify');
  // Remove the containers from the journal, because this run does not change them. No later run may assume that this
  // run stopped them.
  await context.journal.tryWrite({ containers: [] });
  const up = services.flatMap(({ name: service, containers }) =>
    containers.filter(isUp).map(({ id }) => ({ service, id })),
  );
  const check = async () => {
    await awaitHealthyContainers(context, up, context.options.app);
    const project = context.journal.data.project.name;
    if (ready !== null) await runReadyCommand(context, ready, { project, verifyBy });
  };
  await retryUntilDone(context, check).catch((error) => {
    throw requireUpdateError(error, 'broken').withCode('unhealthy');
  });
}

/** Whether a container of an updated service has a different image from the one that was pulled. */
export const hasUnexpectedImage = ({ moved }: Rollout, container: Container): boolean => {
  const image = moved.find(({ name }) => name === serviceOf(container))?.image;
  return image !== null && image !== undefined && !isContainerOfImage(container, image);
};

/**
 * Returns a warning about changed addresses that a reverse proxy may have cached. The text is empty if there are no
 * such addresses.
 */
export function formatChangedAddressWarning({ words }: Rollout, now: readonly Container[]): string {
  const changes = (words.addresses ?? []).flatMap(({ name, ips, proxies }) => {
    const current = now.find((each) => each.name === name)?.ips ?? [];
    const change = `${name} from ${joinWithAnd(ips)} to ${joinWithAnd(current)}`;
    return current.length === 0 || current.join() === ips.join() ? [] : [{ change, proxies }];
  });
  const proxies = [...new Set(changes.flatMap((each) => each.proxies))];
  const told = changes.map(({ change }) => change).join(', ');
  return (
    told &&
    `addresses have changed: ${told}; if an app is unreachable, run docker restart ${proxies.join(' ')}`
  );
}

/** Returns the names of containers outside this update that another process replaced, added or removed. */
export function findChangedContainers({ moved, containers }: Rollout, now: readonly Container[]): string[] {
  const names = new Set(moved.map(({ name }) => name));
  const before = containers.filter((record) => !names.has(record.service));
  const after = now.filter((container) => !names.has(serviceOf(container)));
  const changed = [
    ...before.filter(({ id }) => !after.some((container) => container.id === id)),
    ...after.filter(({ id }) => !before.some((record) => record.id === id)),
  ];
  return [...new Set(changed.map(({ name }) => name))];
}
