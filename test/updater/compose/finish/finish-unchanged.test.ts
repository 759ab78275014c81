import { expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { hasNothingToUpdate } from '../../../../src/updater/compose/finish/finish-unchanged.ts';
import type { Installation } from '../../../../src/updater/compose/inspect/installation.ts';
import type { PreparedPlan } from '../../../../src/updater/compose/plan/prepared-plan.ts';
import { container, image } from '../../../build.ts';
import { composeText, installed, planTo, preparedPlan } from '../../../build-plan.ts';

const reference = 'acme/svc:latest';
const texts = { 'compose.yaml': composeText({ app: reference, worker: reference }) };
const images = new Map([[reference, image('sha256:old')]]);
const references = new Map([
  ['app', reference],
  ['worker', reference],
]);
const plan = (from: Installation, changes: Partial<PreparedPlan> = {}) =>
  preparedPlan(planTo(null, from), { references, images, ...changes });
const change = { path: '/opt/svc/.env', before: null, after: 'V=v1\n', description: 'added V=v1' };
const another = { imageId: 'sha256:new' };

it.each<[string, readonly Container[], readonly Container[], boolean]>([
  ['all run the pulled image', [container('app-1')], [container('worker-1')], true],
  ['the app runs another', [container('app-1', another)], [container('worker-1')], false],
  ['the worker runs another', [container('app-1')], [container('worker-1', another)], false],
  ['the app is stopped', [container('app-1', { status: 'exited' })], [container('worker-1')], false],
  [
    'the worker is stopped on purpose',
    [container('app-1')],
    [container('worker-1', { status: 'exited' })],
    true,
  ],
])('isUnchanged compares containers with the pulled image: %s', (_, app, worker, expected) => {
  expect(hasNothingToUpdate(plan(installed(texts, { services: { app, worker } })))).toBe(expected);
});

it('isUnchanged is true if the tag was published again with the same content and compose would keep the container', () => {
  const worker = container('worker-1');
  const pulled = new Map([[reference, image('sha256:old', { manifests: ['sha256:amd64'] })]]);
  const app = (by: string, imageManifest = 'sha256:amd64') => {
    const { labels, ...rest } = container('app-1', { imageId: 'sha256:older', imageManifest });
    return { ...rest, labels: { ...labels, 'com.docker.compose.image': by } };
  };
  const unchanged = (each: Container) =>
    hasNothingToUpdate(
      plan(installed(texts, { services: { app: [each], worker: [worker] } }), { images: pulled }),
    );
  expect(unchanged(app('sha256:amd64'))).toBe(true);
  expect(unchanged(app('sha256:amd64', 'sha256:other'))).toBe(false);
  // Compose up to 5.2 stored the image ID in the label, so `up` of any version would replace the container.
  expect(unchanged(app('sha256:older'))).toBe(false);
});

it('isUnchanged is false if a container that should be running is stopped', () => {
  const from = installed(texts);
  const [worker] = from.workers;
  if (worker === undefined) throw new Error('it has a worker');
  const down = { ...worker, containers: [container('worker-1', { status: 'exited' })], running: 1 };
  expect(hasNothingToUpdate(plan({ ...from, workers: [down] }))).toBe(false);
});

it('isUnchanged is false if a file must be written or an image is not on this machine', () => {
  const from = installed(texts);
  expect(hasNothingToUpdate(plan(from, { changes: [change] }))).toBe(false);
  expect(hasNothingToUpdate(plan(from, { images: new Map() }))).toBe(false);
  expect(hasNothingToUpdate(plan(from, { references: new Map() }))).toBe(false);
});
