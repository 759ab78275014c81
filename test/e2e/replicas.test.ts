import { execa } from 'execa';
import { describe, expect, test, vi } from 'vitest';
import { judgeWords } from '../judge/log.ts';
import { createInstanceFor } from './support/attempt.ts';
import { alone, type Instance } from './support/instance.ts';

// docs/contract.md 2.11 and 2.13: every service has the containers that it must have before `updated` is said.

const toNext = ['--target', 'v1.1.0'];
/** Its app is not ready before the test says so: `verify` goes on until then. */
const patient = { env: { READY_WHEN: 'ready' } };
const letReady = (instance: Instance) =>
  Promise.all(['app', 'worker'].map((service) => instance.write(`data/ready-${service}`, '')));

/** Until so many workers of the new release have started. */
async function newWorkers(instance: Instance, count: number): Promise<void> {
  const has = async () => (await instance.boots()).filter((boot) => boot === 'worker v1.1.0').length;
  await vi.waitUntil(async () => (await has()) >= count, { timeout: 120_000 });
}

describe.concurrent('containers that are there, or not', () => {
  test('a replica that is removed while the new version gets ready', async ({ onTestFinished }) => {
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
