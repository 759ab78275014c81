import { expect, inject, onTestFinished, test } from 'vitest';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
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

test('what an update would refuse is refused, and what cannot be had is named', async () => {
  const { registry, instance } = await behind({ kind: 'default-latest', tag: 'latest', publish: [] });
  await expectAttempt(instance, ['fetch', '--target', 'v1.1.0'], {
    exitCode: 3,
    says: [`${instance.image}:latest leads to v1.0.0, not to v1.1.0`],
    ends: [/^refused \(lags\): nothing was changed, v1\.0\.0 runs on\. Next: /],
  });
  registry.fail(registryFaults.error, { on: 'manifests' });
  await expectAttempt(instance, ['fetch'], {
    exitCode: 4,
    says: [`${instance.image}:latest: the registry`],
    ends: [/^failed \(pull-[a-z]+\): nothing was changed, v1\.0\.0 runs on\. Next: /],
  });
});

test('a fetch that is killed changes nothing, and one that an update overtakes does not disturb it', async () => {
  const { registry, instance } = await behind({ publish: ['v1.1.0'] });
  const before = await look(instance);
  /** A fetch whose first layer comes when it is let go. */
  const held = async () => {
    let letGo = () => {};
    const until = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    registry.requests.length = 0;
    registry.fail({ kind: 'late', after: 0, until }, { on: 'blobs' });
    const run = instance.startUpdate(['fetch', '--target', 'v1.1.0']);
    await expect
      .poll(() => registry.requests.some((each) => each.includes('/blobs/')), { timeout: 60_000 })
      .toBe(true);
    return { run, letGo };
  };
  const killed = await held();
  await killed.run.kill();
  expect((await killed.run.done).exitCode).toBe(137);
  expect(judgeUntouched(before, await look(instance))).toEqual([]);
  killed.letGo();

  const overtaken = await held();
  const update = instance.startUpdate(['--target', 'v1.1.0']);
  await update.waitFor('plan v1.0.0 → v1.1.0');
  overtaken.letGo();
  const result = await update.done;
  expect(result.exitCode, result.log).toBe(0);
  await overtaken.run.done;
  expect(judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed: pinned })).toEqual([]);
});

test('a registry that limits is asked again, and what is withdrawn or moved after it is noticed by the update', async () => {
  const { registry, instance } = await behind({ kind: 'default-latest', tag: 'latest', publish: [] });
  await instance.publish('latest', { version: '1.1.0' });
  registry.fail(registryFaults.limited, { on: 'manifests', method: 'GET', times: 1 });
  await expectAttempt(instance, ['fetch'], {
    exitCode: 0,
    says: ['trying again in'],
    ends: [fetched('latest \\(v1\\.1\\.0\\)')],
  });
  registry.fail(registryFaults.unknown, { on: 'manifests' });
  await expectAttempt(instance, [], {
    exitCode: 4,
    says: [],
    ends: [/^failed \(pull-unknown\): nothing was changed, v1\.0\.0 runs on\. Next: /],
  });
  registry.fail(null);
  await instance.publish('latest', { version: '1.2.0' });
  await updateWell(instance, [], { version: 'v1.2.0' });
});
