import { expect, inject, onTestFinished, test } from 'vitest';
import { judgeUpDoesNothing } from '../judge/operators-up.ts';
import { type BadRegistry, registryFaults, startBadRegistry } from '../rig/bad-registry.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { createInstance, type Instance } from './support/instance.ts';

// Images ahead of an update: `fetch` has here what an update pulls, and nobody's next `up` sees a difference.

const pinned = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
const fetched = (version: string) =>
  new RegExp(
    `^fetched ${version} in \\d+ s: all images are here; v1\\.0\\.0 runs on, and nothing was changed$`,
  );

async function behind(options: InstanceOptions): Promise<{ registry: BadRegistry; instance: Instance }> {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  return { registry, instance: await createInstance({ registry: registry.host, ...options }) };
}

test('what an update pulls is here before it: then it asks for no layer', async () => {
  const { registry, instance } = await behind({ publish: ['v1.1.0'] });
  await expectAttempt(instance, ['fetch', '--target', 'v1.1.0'], {
    exitCode: 0,
    says: [`${instance.image}:v1.1.0 is here`],
    ends: [fetched('v1\\.1\\.0')],
  });
  expect(await judgeUpDoesNothing(instance)).toEqual([]);
  registry.fail(registryFaults.gone, { on: 'blobs' });
  await updateWell(instance, ['--target', 'v1.1.0'], {
    version: 'v1.1.0',
    changed: pinned,
  });
});

test('a tag that floats stays where it is until the update', async () => {
  const { registry, instance } = await behind({ kind: 'default-latest', tag: 'latest', publish: [] });
  await instance.publish('latest', { version: '1.1.0' });
  await expectAttempt(instance, ['fetch'], {
    exitCode: 0,
    says: [],
    ends: [fetched('latest \\(v1\\.1\\.0\\)')],
  });
  expect(await judgeUpDoesNothing(instance)).toEqual([]);
  registry.fail(registryFaults.gone, { on: 'blobs' });
  await updateWell(instance, [], { version: 'v1.1.0' });
});
