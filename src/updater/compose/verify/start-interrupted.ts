import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import {
  hasTemporaryName,
  isReplacementFor,
  listProjectContainers,
  type ProjectContainers,
} from '../../../engine/containers/project-containers.ts';
import { type Container, containerNumberOf, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { logWaitIfQuiet } from '../../run/log/heartbeat.ts';
import type { Rollout } from '../../run/state/rollout.ts';
import {
  composePollIntervalMs,
  concurrentComposeTimeoutMs,
  maxComposeEventGapMs,
} from '../concurrent-changes/concurrent-compose-watch.ts';
import type { ReplacementContext } from '../replace/replacement.ts';
import { formatContainerNames, renameContainers, startContainers } from '../replace/stop-containers.ts';

/**
 * Starts containers outside this update that another compose command left stopped because of a conflict with this run.
 * Containers that were stopped on purpose stay stopped. Returns whether there was such a command, because it may also
 * have changed updated services.
 * @param first - containers of the project, just listed
 */
export async function startInterruptedContainers(
  work: ReplacementContext,
  first: ProjectContainers,
): Promise<boolean> {
  if (findInterruptedContainers(work.changeover, first).length === 0) return false;
  const { engine, log, compose } = work;
  let seen = { state: '', since: performance.now() };
  const evaluate = (found: ProjectContainers, isLate: boolean): Container[] | undefined => {
    const begun = findInterruptedContainers(work.changeover, found);
    if (isLate || begun.length === 0) return begun;
    const now = performance.now();
    const state = [...found.containers, ...found.leftovers]
      .map(({ id, name, status }) => `${id} ${name} ${status}`)
      .join();
    if (state !== seen.state) seen = { state, since: now };
    const graceMs = Math.max(...begun.map((each) => (isUp(each) ? each.stopTimeout * 1000 : 0)));
    if (now - seen.since >= graceMs + maxComposeEventGapMs) return begun;
    logWaitIfQuiet(
      log,
      `another docker compose command is replacing ${formatContainerNames(begun)}; waiting for it to finish`,
    );
  };
  const begun = await waitUntil(() => listProjectContainers(engine, compose.project.name), evaluate, {
    pause: composePollIntervalMs,
    deadlineMs: concurrentComposeTimeoutMs,
    signal: engine.aborted,
  });
  // Only containers that are down need a start: the interrupted command had not yet stopped the others.
  const down = begun.filter((container) => !isUp(container));
  await renameContainers(work, down.filter(hasTemporaryName));
  await startContainers(work, down);
  return true;
}

/**
 * Finds containers outside this update that were running before the update. Another compose command began to replace
 * each of them and did not finish.
 */
export function findInterruptedContainers(
  { moved, containers: records }: Rollout,
  { containers, leftovers }: ProjectContainers,
): Container[] {
  const others = records.filter(({ runs, service }) => runs && !moved.some(({ name }) => name === service));
  return others.flatMap(({ service, number }) => {
    const own = containers.filter(
      (each) => serviceOf(each) === service && containerNumberOf(each) === number,
    );
    const isBegun = (container: Container) =>
      leftovers.some((leftover) => isReplacementFor(leftover, container));
    const up = own.find(isUp);
    const begun =
      up === undefined
        ? (own.find(({ status }) => status === 'created') ?? own.find(isBegun))
        : [up].find(isBegun);
    return begun === undefined ? [] : [begun];
  });
}
