import type { Engine } from '../../../engine/cli/engine.ts';
import type { Container } from '../../../engine/container.ts';
import { type ContainerRecord, mayBeCrashing, recordOf, type WasInterrupted } from './changeover.ts';

/** Containers as they are right before the first byte changes. @throws UpdateError engine-unavailable */
export async function recordContainers(
  engine: Engine,
  containers: readonly Container[],
  wasInterrupted: WasInterrupted,
): Promise<ContainerRecord[]> {
  const time = containers.some(mayBeCrashing) ? (await engine.getInfo()).SystemTime : null;
  return containers.map((container) => recordOf(container, wasInterrupted, Date.parse(String(time))));
}
