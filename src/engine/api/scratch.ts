import { UpdateError } from '../../progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import { refusal } from '../http/fault.ts';
import { askApi } from './api.ts';

/** A container that only exists to be read from: it is never started. Gives its id. @throws UpdateError engine-away */
export async function createScratch(
  engine: Engine,
  image: string,
  labels: Readonly<Record<string, string>>,
): Promise<string> {
  const answer = await askApi(engine, {
    method: 'POST',
    path: '/containers/create',
    // The engine creates no container without a command, and an image may have none.
    body: { Image: image, Cmd: ['-'], Labels: labels, HostConfig: { NetworkMode: 'none' } },
  });
  if (answer.status !== 201) {
    throw new UpdateError('engine-away', `the engine makes no container of ${image}: ${refusal(answer)}`);
  }
  return String(JSON.parse(answer.body.toString()).Id);
}

/** With its anonymous volumes; one that is gone is removed. @throws UpdateError engine-away */
export async function removeScratch(engine: Engine, id: string): Promise<void> {
  const answer = await askApi(engine, { method: 'DELETE', path: `/containers/${id}?force=1&v=1` });
  if (answer.status >= 400 && answer.status !== 404) {
    throw new UpdateError('engine-away', `the engine does not remove ${id}: ${refusal(answer)}`);
  }
}
