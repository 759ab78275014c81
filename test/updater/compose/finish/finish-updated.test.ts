import { expect, it } from 'vitest';
import {
  findUnusedOldImages,
  formatImageRemovalAdvice,
} from '../../../../src/updater/compose/finish/finish-updated.ts';
import { changeover, container, movedService, record } from '../../../build.ts';
import { engineThat } from '../../../build-plan.ts';

const of = (service: string, imageId: string, imageReference: string) =>
  record(container(`${service}-1`, { imageId, imageReference }));

/** An engine with these images by ID. The images in `used` have a container. */
const engineWithImages = (images: Record<string, { named: string; size: number }>, used: string[] = []) =>
  engineThat((from, to) => {
    const asked = decodeURIComponent(from.url ?? '');
    if (asked.includes('/containers/json')) {
      to.end(JSON.stringify(used.some((id) => asked.includes(`"${id}"`)) ? [{ Id: 'c' }] : []));
      return;
    }
    const name = /\/images\/(.*)\/json/.exec(asked)?.[1] ?? '';
    const id = name in images ? name : Object.keys(images).find((each) => images[each]?.named === name);
    const size = images[id ?? '']?.size;
    if (size === undefined) to.writeHead(404).end('{"message":"no such image"}');
    else to.end(JSON.stringify({ Id: id, Size: size }));
  });

const moved = ['app', 'worker', 'learning'].map((name) => movedService(name));
const containers = [
  of('learning', 'sha256:three', 'acme/learning:v1.0.0'),
  of('app', 'sha256:one', 'acme/svc:v1.0.0'),
  of('worker', 'sha256:one', 'acme/svc:v1.0.0'),
  of('db', 'sha256:db', 'postgres:16'),
];
const images = {
  'sha256:one': { named: 'acme/svc:v1.0.0', size: 2_000_000 },
  'sha256:three': { named: 'acme/learning:v1.0.0', size: 3_000_000 },
  'sha256:db': { named: 'postgres:16', size: 9_000_000 },
};

it('lists each old image of the updated services once', async () => {
  const found = await findUnusedOldImages(await engineWithImages(images), changeover({ moved, containers }));
  expect(found && formatImageRemovalAdvice(found)).toBe(
    'to free up to 5 MB, run docker image rm acme/svc:v1.0.0 acme/learning:v1.0.0',
  );
});

it('omits images that are in use, and lists an image whose tag has moved by its ID', async () => {
  const after = { ...images, 'sha256:three': { named: 'elsewhere', size: 3_000_000 } };
  const found = await findUnusedOldImages(
    await engineWithImages(after, ['sha256:one']),
    changeover({ moved, containers }),
  );
  expect(found && formatImageRemovalAdvice(found)).toBe(
    'to free up to 3 MB, run docker image rm sha256:three',
  );
});
