import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ProjectContainers } from '../../../engine/containers/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import type { RunContext } from '../../run/run-context.ts';
import {
  createInterruptionPredicate,
  createUnstartedContainerFilter,
} from '../../run/state/interruption-predicate.ts';
import type { JournalData } from '../../run/state/journal.ts';
import { containerRecordOf, mayBeCrashing, type Rollout } from '../../run/state/rollout.ts';
import { awaitConcurrentCompose } from './await-concurrent-compose.ts';

/** Maximum time in ms for which a container may be down because a user is restarting it. */
const restartTimeoutMs = 5_000;
const restartPollMs = 250;

/** A project's containers, and the time (`performance.now()`) at which they were requested. */
export interface ProjectObservation {
  found: ProjectContainers;
  requestedAt: number;
}

/**
 * Requires, right before the first change, that no other process has replaced the containers that this run found.
 * `debris` lists the containers that were already abandoned when the run began.
 * @param moved - the services to be replaced, with the containers that this run found
 * @throws UpdateError containers-changed, compose-busy
 */
export async function requireSameContainers(
  context: RunContext,
  project: string,
  moved: readonly { name: string; containers: readonly Container[] }[],
  { earlier: previous, debris }: { earlier: JournalData | null; debris: readonly Container[] },
): Promise<{ containers: Rollout['containers']; observation: ProjectObservation }> {
  const services = new Set(moved.map(({ name }) => name));
  // The run does not wait for containers that were already abandoned when it began.
  const ignores = (container: Container) =>
    createUnstartedContainerFilter(previous)(container) || debris.some(({ id }) => id === container.id);
  const ran = new Set(moved.flatMap((each) => each.containers.filter(isUp).map(({ id }) => id)));
  let at = 0;
  const look = () => {
    at = performance.now();
    return awaitConcurrentCompose(context, project, { services, ignores });
  };
  const isBack = ({ containers }: { containers: readonly Container[] }) =>
    !containers.some((container) => ran.has(container.id) && !isUp(container));
  // Wait, because a container that a user is restarting must not be recorded as stopped.
  const found = await waitUntil(look, (seen, isLate) => (isLate || isBack(seen) ? seen : undefined), {
    pause: restartPollMs,
    deadlineMs: restartTimeoutMs,
    signal: context.engine.aborted,
  });
  const { containers, leftovers } = found;
  for (const { name, containers: before } of moved) {
    const ids = (list: readonly Container[]) =>
      list
        .filter((container) => serviceOf(container) === name)
        .map(({ id }) => id)
        .sort()
        .join();
    if (ids(before) === ids(containers)) continue;
    const isGone = ids(containers) === '';
    throw new UpdateError(
      'containers-changed',
      `${name} was ${isGone ? 'removed' : 'replaced'} by another process during the update`,
    );
  }
  const interrupted = createInterruptionPredicate(previous, leftovers);
  const time = containers.some(mayBeCrashing) ? (await context.engine.getInfo()).SystemTime : null;
  const records = containers.map((each) => containerRecordOf(each, interrupted, Date.parse(String(time))));
  return { containers: records, observation: { found, requestedAt: at } };
}
