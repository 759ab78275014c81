import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { findContainers } from '../rig/engine-api.ts';
import { shareInstance } from './support/attempt.ts';
import type { Instance } from './support/instance.ts';

// An operator's own compose call beside an update. Whichever way the two meet, every service ends with its containers.

const slow = (seconds: number) => `environment: { STOP_DELAY: "${seconds}" }\nstop_grace_period: 30s`;
const stopDelay = { env: { STOP_DELAY: '2' } };
/** Compose starts such a worker seconds after it has made it. */
const patient = 'depends_on: { app: { condition: service_healthy } }';

/** One instance for all: it goes upward, release by release, and each takes 2 s to stop. */
const shared = shareInstance({
  text: { extra: { db: slow(4), worker: patient } },
  release: stopDelay,
  publish: [],
});

/** The operator's call, once it has made the container that is to take the other's place. */
async function replaceByHand(
  instance: Instance,
  service: string,
  ...others: string[]
): Promise<{ ended: Promise<string> }> {
  const ended = instance
    .compose('up', '-d', '--no-deps', '--force-recreate', service, ...others)
    .then(() => 'well', String);
  for (let tries = 0; tries < 200; tries++) {
    const names = (await findContainers(instance.project)).map(({ Name }) => Name.slice(1));
    if (names.some((name) => /^[0-9a-f]{12}_/.test(name) && name.includes(`-${service}-`))) return { ended };
    await sleep(25);
  }
  throw new Error(`compose did not replace ${service}: ${await ended}`);
}

async function expectWhole(instance: Instance, version: string): Promise<void> {
  await instance.waitUntilHealthy();
  const { containers, strays, ...rest } = await instance.snapshot();
  expect({ strays, version: rest.version, worker: rest.workerVersion }).toEqual({
    strays: [],
    version,
    worker: version,
  });
  expect(
    Object.values(containers)
      .map(({ service }) => service)
      .sort(),
  ).toEqual(['app', 'db', 'proxy', 'tunnel', 'worker']);
}

test('the db is being replaced by hand: the update lets it, and touches nothing of it', async () => {
  const instance = shared();
  await instance.publish('v1.1.0', { env: { ...stopDelay.env, READY_AFTER: '3' } });
  const { ended } = await replaceByHand(instance, 'db');
  const result = await instance.update(['--target', 'v1.1.0']);
  expect(result.exitCode, result.log).toBe(0);
  expect(await ended).toBe('well');
  await expectWhole(instance, 'v1.1.0');
  expect(result.log).not.toContain('removed what');
});

test('app and worker are being replaced by hand: the update waits until both are started, and says so', async () => {
  const instance = shared();
  await instance.publish('v1.2.0', stopDelay);
  const { ended } = await replaceByHand(instance, 'app', 'worker');
  const result = await instance.update(['--target', 'v1.2.0']);
  expect(result.exitCode, result.log).toBe(0);
  expect(await ended).toBe('well');
  await expectWhole(instance, 'v1.2.0');
  expect(result.log).toMatch(/another compose call is replacing app.*: waiting for it to end/);
});

test('the new app is replaced by hand while it is verified: it is not left without a container', async () => {
  const instance = shared();
  await instance.publish('v1.3.0', { env: { ...stopDelay.env, READY_AFTER: '3' } });
  const run = instance.startUpdate(['--target', 'v1.3.0']);
  await run.waitFor(/ verify | waiting for app, which/);
  const { ended } = await replaceByHand(instance, 'app');
  const result = await run.done;
  expect(result.exitCode, result.log).toBe(0);
  expect(await ended).toBe('well');
  await expectWhole(instance, 'v1.3.0');
});
