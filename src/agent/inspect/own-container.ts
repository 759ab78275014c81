import { inspectContainers } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container } from '../../engine/container.ts';
import { ownContainer } from '../../engine/own-container.ts';
import { UpdateError } from '../../progress/update-error.ts';

/** The engine's view of the container this process runs in. @throws UpdateError own-container */
export async function findOwnContainer(engine: Engine): Promise<Container> {
  const { id, name } = await ownContainer();
  const [own] = await inspectContainers(engine, [name]);
  if (own) return own;
  throw new UpdateError(
    'own-container',
    id
      ? `the engine on the socket does not know this container (${id.slice(0, 12)}): the socket is another engine's`
      : 'cannot tell which container this is',
  );
}
