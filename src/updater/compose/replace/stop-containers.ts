import { finalNameOf } from '../../../engine/containers/project-containers.ts';
import { findEngineError, rejectionCodes, tolerateErrors } from '../../../engine/http/engine-error.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import type { EngineContext } from '../../run/run-context.ts';

/**
 * Stops containers, and logs at intervals while their grace periods last.
 * @throws UpdateError engine-unavailable
 */
export async function stopContainers(
  { engine, log }: EngineContext,
  containers: readonly { id: string; name: string }[],
  { words = '', graces }: { words?: string; graces?: ReadonlyMap<string, number> } = {},
): Promise<void> {
  const ids = containers.map(({ id }) => id);
  const sentence = `waiting for ${formatContainerNames(containers)} to stop${words}`;
  await awaitWithHeartbeat(log, sentence, engine.stopContainers(ids, graces));
}

/** Stops and removes containers. Keeps their volumes, because a new container may share them. */
export async function stopAndRemoveContainers(
  dataContext: EngineContext,
  containers: readonly { id: string; name: string }[],
): Promise<void> {
  await stopContainers(dataContext, containers);
  await dataContext.engine.removeContainers(containers.map(({ id }) => id));
}

/** Removes leftover containers of an interrupted compose command, because their names would block the next `up`. */
export async function removeLeftoverContainers(
  { engine, log }: EngineContext,
  leftovers: readonly Container[],
): Promise<void> {
  if (leftovers.length === 0) return;
  await engine.removeContainers(leftovers.map(({ id }) => id));
  log.info(
    `removed leftover containers of an interrupted docker compose command: ${formatContainerNames(leftovers)}`,
  );
}

/** Renames containers to their final names, because a compose command was interrupted before it could do so. */
export async function renameContainers(
  { engine, log }: EngineContext,
  containers: readonly Container[],
): Promise<void> {
  for (const container of containers) {
    const name = finalNameOf(container);
    const renamed = await engine.renameContainer(container.id, name).catch(tolerateErrors(...rejectionCodes));
    if (renamed !== null) {
      log.info(
        `renamed ${container.name} to ${name}, because a docker compose command was interrupted before it could do so`,
      );
    }
  }
}

/** Starts containers that a compose command should have started before it was interrupted. */
export async function startContainers(
  { engine, log }: EngineContext,
  containers: readonly { id: string; name: string }[],
): Promise<void> {
  const started: { name: string }[] = [];
  for (const container of containers) {
    try {
      await awaitWithHeartbeat(
        log,
        `waiting for ${container.name} to start`,
        engine.startContainer(container.id),
      );
      started.push(container);
    } catch (error) {
      const cause = findEngineError(error);
      if (cause?.status == null) throw error;
      log.warn(
        `${container.name}, created by another docker compose command, did not start: ${cause.message}`,
      );
    }
  }
  if (started.length === 0) return;
  log.warn(
    `started ${formatContainerNames(started)}, because another docker compose command was interrupted before it could do so`,
  );
}

export const formatContainerNames = (containers: readonly { name: string }[]): string =>
  containers.map(({ name }) => name).join(', ');
