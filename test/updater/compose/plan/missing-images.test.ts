import { expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { findMissingImageWarnings } from '../../../../src/updater/compose/plan/missing-images.ts';
import { container, image } from '../../../build.ts';
import { composeText, installed } from '../../../build-plan.ts';

const texts = { 'compose.yaml': composeText({ app: 'r.test/acme/svc:v1', worker: 'r.test/acme/svc:v1' }) };
const gone =
  'is no longer on this machine, so drift detection is limited and a failed update cannot be rolled back. To allow a rollback, first run ';
const id = `sha256:${'a'.repeat(64)}`;
const made = (place: string, changes: Partial<Container> = {}): Container =>
  container(place, { imageId: id, imageReference: 'r.test/acme/svc:v1', imageManifest: id, ...changes });

function sentences(app: Container, worker: Container, here: string[], tail?: Container): string[] {
  const services = { app: [app], worker: [worker] };
  const followers = tail === undefined ? {} : { tail: [tail] };
  const imagesInUse = new Map(here.map((each) => [each, image(each)] as const));
  return findMissingImageWarnings(installed(texts, { services, followers, imagesInUse }));
}

it('returns no warning if all running images are on this machine', () => {
  expect(sentences(made('app-1'), made('worker-1'), [id])).toEqual([]);
});

it('warns about a missing image, with the command to pull it again', () => {
  expect(sentences(made('app-1'), made('worker-1'), [])).toEqual([
    `the image used by app and worker (${id.slice(0, 19)}) ${gone}docker pull r.test/acme/svc@${id}; if the registry no longer has the image, run docker commit svc-app-1 r.test/acme/svc:kept. If the update fails, set the image r.test/acme/svc:kept in the compose file`,
  ]);
});

it('returns one warning for each image, including images of followers', () => {
  const tail = made('tail-1', { imageId: 'sha256:tail', imageReference: 'busybox:1', imageManifest: null });
  expect(sentences(made('app-1'), made('worker-1', { imageId: 'sha256:w' }), [id], tail)).toEqual([
    expect.stringMatching(/^the image used by worker \(sha256:w\) .* docker pull /),
    `the image used by tail (sha256:tail) ${gone}docker commit svc-tail-1 busybox:kept. If the update fails, set the image busybox:kept in the compose file`,
  ]);
});

it('suggests no pull for a container that was created from an image ID', () => {
  const app = made('app-1', { imageReference: id });
  expect(sentences(app, made('worker-1', { imageId: 'sha256:w' }), ['sha256:w'])[0]).toContain(
    'first run docker commit svc-app-1 svc:kept',
  );
});
