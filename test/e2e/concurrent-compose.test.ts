import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { beforeEach, expect, test } from 'vitest';
import { findContainers } from '../rig/engine-api.ts';
import { expectWords, shareInstance } from './support/attempt.ts';
import { fastClock } from './support/fast-clock.ts';
import type { Instance } from './support/instance.ts';

// An operator runs a compose command during an update. Afterwards, every service must have its containers.

/** The containers stop only once this file exists, which `letStop` writes. */
const stopUntil = { STOP_UNTIL: '/data/go' };
const slow = 'environment: { STOP_UNTIL: /dump/go }\nstop_grace_period: 5m';
/** Compose creates this worker early, but starts it only once the app is healthy. */
const patient = 'stop_grace_period: 5m\ndepends_on: { app: { condition: service_healthy } }';

/** All tests share this instance, and update it from release to release. */
const shared = shareInstance({
  text: { extra: { app: 'stop_grace_period: 5m', db: slow, worker: patient } },
  release: { env: stopUntil },
  publish: [],
  env: 'COMPOSE_REMOVE_ORPHANS=true\n',
});

const folderOf = (service: string) => (service === 'db' ? 'data/dump' : 'data');
const letStop = (service: string) => shared().write(`${folderOf(service)}/go`, '');
async function keepFromStopping(service: string): Promise<void> {
  for (const file of ['go', 'go.asked'])
    await rm(join(shared().directory, folderOf(service), file), { force: true });
}
beforeEach(async () => {
  for (const service of ['app', 'db']) await letStop(service);
});

/** Waits until the old container of the service has exited. */
const hasStopped = ({ project }: Instance, service: string) =>
  execa('docker', ['wait', `${project}-${service}-1`], { timeout: 60_000 });

/** Waits until compose has created the replacement and requested the stop of the old container. Returns its name. */
async function madeByHand({ directory, project }: Instance, service: string): Promise<string> {
  for (let tries = 0; tries < 2_400; tries++, await sleep(25)) {
    if (!existsSync(join(directory, folderOf(service), 'go.asked'))) continue;
    const names = (await findContainers(project)).map(({ Name }) => Name.slice(1));
    const made = names.find((name) => /^[0-9a-f]{12}_/.test(name) && name.includes(`-${service}-`));
    if (made !== undefined) return made;
  }
  throw new Error(`compose did not replace ${service}`);
}

/** Starts the operator's compose command, and waits until it is stopping the old container, which needs `letStop`. */
async function replaceByHand(
  instance: Instance,
  service: string,
  ...others: string[]
): Promise<{ ended: Promise<string> }> {
  await keepFromStopping(service);
  const ended = instance
    .compose('up', '-d', '--no-deps', '--force-recreate', service, ...others)
    .then(() => 'well', String);
  await madeByHand(instance, service);
  return { ended };
}

/** Kills a compose command that is replacing the service. Returns the name of the container that the command leaves. */
async function leaveByHand(instance: Instance, service: string): Promise<string> {
  await keepFromStopping(service);
  const args = ['-f', 'compose.prod.yaml', 'up', '-d', '--no-deps', '--force-recreate', service];
  const call = execa('docker', ['compose', ...args], {
    cwd: instance.directory,
    detached: true,
    reject: false,
  });
  const left = await madeByHand(instance, service);
  // Kills the process group: the command and its plugin.
  process.kill(-(call.pid as number), 'SIGKILL');
  await call;
  return left;
}

/** Flags for the first container of the service. Compose ignores containers without a config hash. */
function labelled(project: string, service: string): string[] {
  const labels = {
    project,
    service,
    'container-number': '1',
    oneoff: 'False',
    'config-hash': '0'.repeat(64),
  };
  return Object.entries(labels).flatMap(([key, value]) => ['--label', `com.docker.compose.${key}=${value}`]);
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

test('an update removes the app container left by a killed compose command, and starts the db that the command had stopped', async () => {
  const instance = shared();
  const { project } = instance;
  await instance.publish('v1.4.0', { env: stopUntil });
  const db = await leaveByHand(instance, 'db');
  const app = await leaveByHand(instance, 'app');
  await letStop('app');
  await hasStopped(instance, 'app');
  // The clock is three times as fast: the updater waits two minutes for the db, which is 40 seconds of the test.
  const run = instance.startUpdate(['--target', 'v1.4.0'], { env: fastClock(3) });
  // While the updater waits for the db, an older compose command creates a container for app, and then fails.
  await run.waitFor(/verify another docker compose command is replacing \S+-db-1; waiting/);
  await execa('docker', ['create', '--name', app, ...labelled(project, 'app'), `${instance.image}:v1.4.0`]);
  await letStop('db');
  const result = await run.done;
  expect(
    result.log.split(`removed leftover containers of an interrupted docker compose command: ${app}\n`),
  ).toHaveLength(3);
  expectWords(result, {
    exitCode: 0,
    says: [
      `another docker compose command is replacing app (${app}); waiting for the command to finish (`,
      `started ${project}-db-1, because another docker compose command was interrupted before it could do so`,
    ],
    ends: [/^updated v\S+ → v1\.4\.0 /],
    never: ['; trying again'],
  });
  // The updater does not remove leftover containers of services that it does not update.
  expect((await instance.snapshot()).strays).toEqual([`${db} (created)`]);
  await execa('docker', ['rm', db]);
  await expectWhole(instance, 'v1.4.0');
});

test('an update is refused if a concurrent compose command has not finished after two minutes', async () => {
  const instance = shared();
  await instance.publish('v1.6.0');
  const { ended } = await replaceByHand(instance, 'app');
  // The stop grace period of the app is five minutes, longer than the updater waits.
  const result = await instance.update(['--target', 'v1.6.0'], { env: fastClock(20) });
  expectWords(result, {
    exitCode: 3,
    says: [
      /another docker compose command is replacing app \(\w{12}_\S+-app-1\); waiting for the command to finish/,
    ],
    ends: ['refused (compose-busy): nothing was changed. Next: ', /docker rm \w{12}_\S+-app-1\.$/],
  });
  expect(result.log).toMatch(
    /another docker compose command is replacing app .*; the command has not finished after 120 s/,
  );
  expect(result.durationMs).toBeGreaterThan(6_000);
  await letStop('app');
  expect(await ended).toBe('well');
  await expectWhole(instance, 'v1.4.0');
});
