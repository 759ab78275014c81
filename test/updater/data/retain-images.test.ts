import { expect, it } from 'vitest';
import { retainImages } from '../../../src/updater/data/retain-images.ts';
import { engineThat } from '../../engine/http-engine.ts';

const place = { directory: '/opt/svc/.svc-updater/points/20261121T104207Z', isOutsideStateDirectory: false };

/** Retains an image on an engine that responds to each new tag with this status and message. */
function hold(status: number, message: string): Promise<void> {
  const engine = engineThat((from, to) => {
    const isTag = from.url?.includes('/tag?') === true;
    to.writeHead(isTag ? status : 200).end(
      isTag ? JSON.stringify({ message }) : from.method === 'GET' ? '[]' : '{"Id":"1"}',
    );
  });
  return engine.then((found) => retainImages(found, 'svc', place, ['sha256:1234']));
}

it('ignores an image that no longer exists', () =>
  expect(hold(404, 'No such image')).resolves.toBeUndefined());

it.each([
  [500, 'disk'],
  [409, 'busy'],
])('fails if the engine cannot tag an image to retain it: %s', async (status, message) => {
  await expect(hold(status, message)).rejects.toMatchObject({
    message: `the engine failed to tag sha256:1234: ${message}`,
  });
});
