import { expect, it } from 'vitest';
import { goneImages } from '../../../src/agent/plan/gone-images.ts';
import type { Container } from '../../../src/engine/container.ts';
import { container, image } from '../../build.ts';
import { composeText, installed } from '../../build-plan.ts';

const texts = { 'compose.yaml': composeText({ app: 'r.test/acme/svc:v1', worker: 'r.test/acme/svc:v1' }) };
const drift =
  'drift is looked for without it, and once replaced there is no way back to it. To have one, first: ';
const built = 'as where its tag was built over';
const id = `sha256:${'a'.repeat(64)}`;
const made = (place: string, changes: Partial<Container> = {}): Container =>
  container(place, { imageId: id, imageReference: 'r.test/acme/svc:v1', imageManifest: id, ...changes });

function sentences(app: Container, worker: Container, here: string[], tail?: Container): string[] {
  const services = { app: [app], worker: [worker] };
  const followers = tail === undefined ? {} : { tail: [tail] };
  const imagesInUse = new Map(here.map((each) => [each, image(each)] as const));
  return goneImages(installed(texts, { services, followers, imagesInUse }));
}

it('says nothing where all that runs can be made again', () => {
  expect(sentences(made('app-1'), made('worker-1'), [id])).toEqual([]);
});

it('names what cannot, and where what was pulled comes from', () => {
  expect(sentences(made('app-1'), made('worker-1'), [])).toEqual([
    `app and worker run an image that is gone from this machine (${id.slice(0, 19)}), ${built}: ${drift}docker pull r.test/acme/svc@${id}; where its registry does not have it, docker commit svc-app-1 r.test/acme/svc:kept keeps what runs, to be named in the files after a failure`,
  ]);
});

it('has a sentence for each image, and has followers replaced, too', () => {
  const tail = made('tail-1', { imageId: 'sha256:tail', imageReference: 'busybox:1', imageManifest: null });
  expect(sentences(made('app-1'), made('worker-1', { imageId: 'sha256:w' }), [id], tail)).toEqual([
    expect.stringMatching(
      /^worker runs an image that is gone from this machine \(sha256:w\), .* docker pull /,
    ),
    `tail runs an image that is gone from this machine (sha256:tail), ${built}: ${drift}docker commit svc-tail-1 busybox:kept keeps what runs, to be named in the files after a failure`,
  ]);
});

it('knows no place to pull from of a container that was made from an id', () => {
  const app = made('app-1', { imageReference: id });
  expect(sentences(app, made('worker-1', { imageId: 'sha256:w' }), ['sha256:w'])[0]).toContain(
    'first: docker commit svc-app-1 svc:kept',
  );
});
