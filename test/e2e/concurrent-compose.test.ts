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

// An operator's own compose call beside an update. Whichever way the two meet, every service ends with its containers.

/** Nothing of it stops before there is such a file, which `letStop` writes. */
const stopUntil = { STOP_UNTIL: '/data/go' };
const slow = 'environment: { STOP_UNTIL: /dump/go }\nstop_grace_period: 5m';
/** Compose starts such a worker once the app is well, however long ago it has made it. */
const patient = 'stop_grace_period: 5m\ndepends_on: { app: { condition: service_healthy } }';

/** One instance for all: it goes upward, release by release. */
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

/** Its old container has ended. */
const hasStopped = ({ project }: Instance, service: string) =>
  execa('docker', ['wait', `${project}-${service}-1`], { timeout: 60_000 });

/** The name of the container that is to take the other's place, once compose has made it and told the other to stop. */
async function madeByHand({ directory, project }: Instance, service: string): Promise<string> {
  for (let tries = 0; tries < 2_400; tries++, await sleep(25)) {
    if (!existsSync(join(directory, folderOf(service), 'go.asked'))) continue;
    const names = (await findContainers(project)).map(({ Name }) => Name.slice(1));
    const made = names.find((name) => /^[0-9a-f]{12}_/.test(name) && name.includes(`-${service}-`));
    if (made !== undefined) return made;
  }
  throw new Error(`compose did not replace ${service}`);
}

/** The operator's call, there; the other stops when the test lets it. */
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

/** The same, killed there. Gives the name of what it has left. */
async function leaveByHand(instance: Instance, service: string): Promise<string> {
  await keepFromStopping(service);
  const args = ['-f', 'compose.prod.yaml', 'up', '-d', '--no-deps', '--force-recreate', service];
  const call = execa('docker', ['compose', ...args], {
    cwd: instance.directory,
    detached: true,
    reject: false,
  });
  const left = await madeByHand(instance, service);
  // The command and its plugin.
  process.kill(-(call.pid as number), 'SIGKILL');
  await call;
  return left;
}

/** Flags for a first container of that service; compose takes none for its own without a hash. */
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

test('a call was killed in the middle: what it left of app is removed, and the db that it stopped is started', async () => {
  const instance = shared();
  const { project } = instance;
  await instance.publish('v1.4.0', { env: stopUntil });
  const db = await leaveByHand(instance, 'db');
  const app = await leaveByHand(instance, 'app');
  await letStop('app');
  await hasStopped(instance, 'app');
  // Of the two minutes for which the db is waited for, this leaves the test half a minute.
  const run = instance.startUpdate(['--target', 'v1.4.0'], { env: fastClock(3) });
  // While the db is waited for, a call that began before comes to app, and breaks off as the one it knows is gone.
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
  // What was made of others is left to whoever made it.
  expect((await instance.snapshot()).strays).toEqual([`${db} (created)`]);
  await execa('docker', ['rm', db]);
  await expectWhole(instance, 'v1.4.0');
});

test('a call that goes on and on is waited for for two minutes, and then the update is refused', async () => {
  const instance = shared();
  await instance.publish('v1.6.0');
  const { ended } = await replaceByHand(instance, 'app');
  // The app may take five minutes to stop.
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
