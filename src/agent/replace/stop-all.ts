import { stopContainers } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { withHeartbeat } from '../log/heartbeat.ts';
import type { Log } from '../log/log.ts';

/** Stops containers, and says so as long as their grace periods go on. @throws UpdateError engine-away */
export async function stopAll(
  engine: Engine,
  containers: readonly { id: string; name: string }[],
  log: Log,
  words = '',
): Promise<void> {
  const names = containers.map(({ name }) => name).join(', ');
  const stopped = stopContainers(
    engine,
    containers.map(({ id }) => id),
  );
  await withHeartbeat(log, `waiting for ${names} to stop${words}`, stopped);
}
