import { expect, inject, onTestFinished, test } from 'vitest';
import { judgeUpDoesNothing } from '../judge/operators-up.ts';
import { registryFaults, startBadRegistry } from '../rig/bad-registry.ts';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { createInstance } from './support/instance.ts';

// `fetch` downloads the images of an update in advance. The next `docker compose up` must not use them.

const fetched = (version: string) =>
  new RegExp(`^fetched ${version} in \\d+ s: all images are on this machine; v1\\.0\\.0 is still running$`);

test('fetch does not move a floating tag, and the following update requests no layers', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const options = { kind: 'default-latest', tag: 'latest' } as const;
  const instance = await createInstance({ ...options, publish: [], registry: registry.host });
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
