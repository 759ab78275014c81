import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Container } from '../engine/container.ts';
import type { Engine } from '../engine/engine.ts';
import { UpdateError } from '../progress/update-error.ts';

/**
 * The container this process runs in. The mount table first: the engine mounts /etc/hostname and others from a
 * directory named by the container's id. The host name second: it may have been chosen by the operator.
 */
export async function findOwnContainer(engine: Engine): Promise<Container> {
  const mountTable = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const id = /\/containers\/([0-9a-f]{64})\//.exec(mountTable)?.[1];
  const [own] = await engine.inspect([id ?? hostname()]);
  if (own) return own;
  throw new UpdateError(
    'own-container',
    id
      ? `the engine on the socket does not know this container (${id.slice(0, 12)}): the socket is another engine's`
      : 'cannot tell which container this is',
  );
}
