import { expect, it } from 'vitest';
import { computeRequiredPullBytes } from '../../../../src/updater/compose/pull/require-space-to-pull.ts';

const app = { service: 'app', to: 'acme/svc:v1.1.0' };
const worker = { service: 'worker', to: 'acme/worker:v1.1.0' };
const running: Readonly<Record<string, number>> = { app: 500, twin: 500, worker: 30 };

type Layers = Readonly<Record<string, Readonly<Record<string, number>>>>;

it.each<[situation: string, images: (typeof app)[], layers: Layers, bytes: number]>([
  ['no image is missing', [], { app: { a: 1 } }, 0],
  ['the layers are known by service', [app], { app: { a: 1, b: 20 } }, 21],
  ['the layers are known by repository', [app], { 'acme/svc': { a: 1, b: 20 } }, 21],
  [
    'a repository has its registry',
    [{ ...app, to: 'docker.io/acme/svc:v1.1.0' }],
    { 'acme/svc': { a: 1 } },
    1,
  ],
  ['two images share a layer', [app, worker], { app: { a: 1, b: 20 }, worker: { a: 1, c: 300 } }, 321],
  ['only the running images are known', [app, worker], {}, 530],
  ['two services have the same image', [app, { ...app, service: 'twin' }], {}, 500],
  ['only one image is described', [app, worker], { app: { a: 1 } }, 31],
  ['nothing is known', [{ service: 'jobs', to: 'acme/jobs:v1' }], {}, 0],
])('counts the bytes of images if %s', (_, images, layers, bytes) => {
  const sizeNow = (service: string) => running[service] ?? 0;
  expect(computeRequiredPullBytes(images, new Map(Object.entries(layers)), sizeNow)).toBe(bytes);
});
