import { finalName } from '../../../engine/api/project-containers.ts';
import { stopContainers } from '../../../engine/api/query.ts';
import type { Container } from '../../../engine/container.ts';
import { withHeartbeat } from '../../run/log/heartbeat.ts';
import type { EngineContext } from '../../run/run-context.ts';

/** Stops containers, and says so as long as their grace periods go on. @throws UpdateError engine-unavailable */
export async function stopAll(
  { engine, log }: EngineContext,
  containers: readonly { id: string; name: string }[],
  { words = '', graces }: { words?: string; graces?: ReadonlyMap<string, number> } = {},
): Promise<void> {
  const ids = containers.map(({ id }) => id);
  const sentence = `waiting for ${namesOf(containers)} to stop${words}`;
  await withHeartbeat(log, sentence, stopContainers(engine, ids, graces));
}

/** Stops and removes containers. Their volumes stay: a new container may share them with an old one. */
export async function stopAndRemove(
  doors: EngineContext,
  containers: readonly { id: string; name: string }[],
): Promise<void> {
  await stopAll(doors, containers);
  await doors.engine.callOrThrow(['rm', '--force', ...containers.map(({ id }) => id)]);
}

/** Removes containers that would block the next `up` by holding its names. */
export async function removeLeftovers(
  { engine, log }: EngineContext,
  leftovers: readonly Container[],
): Promise<void> {
  if (leftovers.length === 0) return;
  // `rm` without --volumes: an anonymous volume may belong to the container that this one was to replace.
  await engine.callOrThrow(['rm', '--force', ...leftovers.map(({ id }) => id)]);
  log.info(`removed leftover containers of an interrupted docker compose command: ${namesOf(leftovers)}`);
}

/** Gives containers the final names that a compose call did not come to give them. */
export async function giveNames(
  { engine, log }: EngineContext,
  containers: readonly Container[],
): Promise<void> {
  for (const container of containers) {
    const name = finalName(container);
    const { exitCode } = await engine.call(['rename', container.id, name]);
    if (exitCode === 0) {
      log.info(
        `renamed ${container.name} to ${name}, because a docker compose command was interrupted before it could do so`,
      );
    }
  }
}

/** Starts containers that another compose call was to start. */
export async function startBrokenOff(
  { engine, log }: EngineContext,
  containers: readonly { id: string; name: string }[],
): Promise<void> {
  if (containers.length === 0) return;
  for (const { id } of containers) await engine.call(['start', id]);
  log.warn(
    `started ${namesOf(containers)}, because another docker compose command was interrupted before it could do so`,
  );
}

export const namesOf = (containers: readonly { name: string }[]): string =>
  containers.map(({ name }) => name).join(', ');
