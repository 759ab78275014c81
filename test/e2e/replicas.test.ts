import { execa } from 'execa';
import { describe, expect, test, vi } from 'vitest';
import { judgeWords } from '../judge/log.ts';
import { createInstanceFor } from './support/attempt.ts';
import { alone, type Instance } from './support/instance.ts';

// docs/contract.md 2.11 and 2.13: the outcome is `updated` only if every service has all its containers.

const toNext = ['--target', 'v1.1.0'];
/** App and worker become ready only when the test writes a file; `verify` waits until then. */
const patient = { env: { READY_WHEN: 'ready' } };
const letReady = (instance: Instance) =>
  Promise.all(['app', 'worker'].map((service) => instance.write(`data/ready-${service}`, '')));

/** Waits until this number of workers of the new release has started. */
async function newWorkers(instance: Instance, count: number): Promise<void> {
  const has = async () => (await instance.boots()).filter((boot) => boot === 'worker v1.1.0').length;
  await vi.waitUntil(async () => (await has()) >= count, { timeout: 120_000 });
}

describe.concurrent('an update', () => {
  test('has the outcome broken if a replica is removed while the new version starts', async ({
    onTestFinished,
  }) => {
    const scaled = { up: [...alone.up, '--scale', 'worker=2'], publish: [] };
    const instance = await createInstanceFor(onTestFinished, scaled);
    await instance.publish('v1.1.0', patient);
    const run = instance.startUpdate(toNext);
    await newWorkers(instance, 2);
    await execa('docker', ['rm', '--force', `${instance.project}-worker-2`]);
    await letReady(instance);
    const result = await run.done;
    const words = {
      exitCode: 5,
      says: ['worker has 1 of 2 containers'],
      ends: [/^broken \([a-z-]+\): /],
    };
    expect(judgeWords(result, words), result.log).toEqual([]);
  });
});
