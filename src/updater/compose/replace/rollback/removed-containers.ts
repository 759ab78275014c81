import type { ProjectContainers } from '../../../../engine/api/project-containers.ts';
import type { Container } from '../../../../engine/container.ts';
import type { Changeover, ContainerRecord } from '../../../run/state/changeover.ts';

/** The containers of the project; a container that was made again has the id of the one from before. */
export function withOldIds(
  { containers, leftovers }: ProjectContainers,
  successors: ReadonlyMap<string, string>,
): Container[] {
  const stands = new Map([...successors].map(([old, id]) => [id, old] as const));
  return [...containers, ...leftovers].map((container) => ({
    ...container,
    id: stands.get(container.id) ?? container.id,
  }));
}

/** Names of old containers that were there, and are gone or about to go. @param there ids of the old ones */
export function removedContainers(
  { moved, containers }: Changeover,
  there: ReadonlySet<string>,
  now: readonly Container[],
): string[] {
  const stays = ({ id }: ContainerRecord) =>
    now.some((container) => container.id === id && !['removing', 'dead'].includes(container.status));
  return containers
    .filter(({ service }) => moved.some(({ name }) => name === service))
    .filter((record) => there.has(record.id) && !stays(record))
    .map(({ name }) => name);
}
