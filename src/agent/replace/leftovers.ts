import { finalName } from '../../engine/api/project-containers.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container } from '../../engine/container.ts';
import type { Log } from '../log/log.ts';

/** Removes containers that would block the next `up` by holding its names. */
export async function removeLeftovers(
  engine: Engine,
  containers: readonly Container[],
  log: Log,
): Promise<void> {
  if (containers.length === 0) return;
  // `rm` without --volumes: an anonymous volume may belong to the container that this one was to replace.
  await engine.callOrThrow(['rm', '--force', ...containers.map(({ id }) => id)]);
  log.info(
    `removed what an earlier compose call left behind: ${containers.map(({ name }) => name).join(', ')}`,
  );
}

/** Gives containers the final names that a compose call did not come to give them. */
export async function giveNames(engine: Engine, containers: readonly Container[], log: Log): Promise<void> {
  for (const container of containers) {
    const name = finalName(container);
    const { exitCode } = await engine.call(['rename', container.id, name]);
    if (exitCode === 0) {
      log.info(`${container.name} is ${name} now: a compose call ended before it named it`);
    }
  }
}
