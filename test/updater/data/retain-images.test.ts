import { expect, it } from 'vitest';
import { retainImages } from '../../../src/updater/data/retain-images.ts';
import { engineThat } from '../../engine/http-engine.ts';

const place = { directory: '/opt/svc/.svc-updater/points/20261121T104207Z', isElsewhere: false };

/** An engine that responds like this to each new tag. */
function hold(status: number, message: string): Promise<void> {
  const engine = engineThat((from, to) => {
    const isTag = from.url?.includes('/tag?') === true;
    to.writeHead(isTag ? status : 200).end(
      isTag ? JSON.stringify({ message }) : from.method === 'GET' ? '[]' : '{"Id":"1"}',
    );
  });
  return engine.then((found) => retainImages(found, 'svc', place, ['sha256:1234']));
}

it('accepts that an image is gone', () => expect(hold(404, 'No such image')).resolves.toBeUndefined());

it.each([
  [500, 'disk'],
  [409, 'busy'],
])('fails if the engine cannot protect an image: %s', async (status, message) => {
  await expect(hold(status, message)).rejects.toMatchObject({
    message: `the engine failed to tag sha256:1234: ${message}`,
  });
});
