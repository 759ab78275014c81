import { rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { judgeFiles } from '../judge/files.ts';
import { startBadEngine } from '../rig/bad-engine.ts';
import { composeText } from '../rig/compose-text.ts';
import { expectWords } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 5.16: "runs again" is said of what is what it was, and of nothing else.

const impossible = ['--target', 'v1.1.3', '--wait-timeout', '20'];
const notBack =
  'broken (not-brought-back): the files are as they were, but v1.0.0 could not be brought back; nothing of the new version has started. Next: ';

/**
 * The worker is not well from the beginning, and nobody waits for it; the app is, as long as that file is there. Neither
 * stops before the test says so.
 */
const startFrail = () =>
  createInstance({
    ...alone,
    layout: (c) => ({
      files: {
        'compose.yaml': composeText({
          app: `${c.image}:\${SVC_VERSION}`,
          parts: c.parts,
          extra: { app: 'stop_grace_period: 10m', worker: 'stop_grace_period: 10m' },
        }).replace('/bin/wget, -qO-, "http://127.0.0.1:8080/version"', '/bin/test, -e, /data/kept.txt'),
        '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      },
      flags: [],
    }),
    release: { env: { STOP_UNTIL: '/data/stop-now', FAULT_WORKER: 'unhealthy' } },
    publish: ['v1.1.0', 'v1.1.3'],
    impatient: true,
  });

async function waitForHealth(instance: Instance, app: string, worker: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const all = Object.values(await instance.containers());
    const healthOf = (name: string) => all.find(({ service }) => service === name)?.health;
    if (healthOf('app') === app && healthOf('worker') === worker) return;
    await sleep(100);
  }
  throw new Error(`app is not ${app}, or worker is not ${worker}`);
}

test('what crashed in a loop before is brought back as it was', async () => {
  // It crashes for as long as that file is there; its health check says nothing for an hour.
  const loop = 'while ! [ -e /data/crash ]; do sleep 0.1; done; echo crashed >>/data/crashes; exit 1';
  const instance = await createInstance({
    ...alone,
    layout: (c) => ({
      files: {
        'compose.yaml': composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts })
          .replace('command: worker', `entrypoint: [/bin/sh, -c, '${loop}']`)
          .replace(
            '[CMD, /bin/test, -e, /tmp/alive]',
            '[CMD, /bin/test, -e, /tmp/alive]\n      interval: 1h',
          ),
        '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      },
      flags: [],
    }),
    publish: ['v1.1.3'],
    impatient: true,
  });
  await waitForHealth(instance, 'healthy', 'starting');
  const crashes = async (least: number) => {
    await instance.write('data/crash', '');
    const said = () => instance.read('data/crashes').catch(() => '');
    await expect
      .poll(async () => (await said()).split('\n').length, { timeout: 60_000 })
      .toBeGreaterThan(least);
  };
  // Between two crashes it looks as if it were just starting.
  await crashes(2);
  await unlink(join(instance.directory, 'data', 'crash'));
  await waitForHealth(instance, 'healthy', 'starting');
  const run = instance.startUpdate(impossible);
  await run.waitFor('recreate stopping worker');
  await crashes(3);
  expectWords(await run.done, {
    exitCode: 4,
    says: ['nothing of the new version has started: the old one is brought back'],
    ends: [/^failed \([a-z-]+\): the files are as they were and v1\.0\.0 runs again\. Next: /],
  });
});

test('what was brought back and is not what it was is named, and is not said to run again', async () => {
  const instance = await startFrail();
  const { directory, project, image } = instance;
  await waitForHealth(instance, 'healthy', 'unhealthy');
  const { files } = await instance.snapshot();

  // The app that comes back is unhealthy.
  const run = instance.startUpdate(impossible);
  await run.waitFor('recreate stopping worker');
  await unlink(join(directory, 'data', 'kept.txt'));
  await instance.write('data/stop-now', '');
  expectWords(await run.done, {
    exitCode: 5,
    says: [/ERROR recreate \S+-app-1 is unhealthy/],
    ends: [notBack],
  });
  expect(judgeFiles(files, (await instance.snapshot()).files)).toEqual([]);
  await instance.write('data/kept.txt', 'kept\n');
  await waitForHealth(instance, 'healthy', 'unhealthy');
  // Somebody has mended it: the next run has nothing to put back.
  await rm(join(directory, '.svc-updater', 'journal.json'));

  // An engine that makes another container than it was asked for, and says of a start that it has done it.
  await execa('docker', ['pull', '--quiet', `${image}:v1.1.0`]);
  const engine = await startBadEngine(join(inject('host').directory, `${project}.sock`));
  onTestFinished(() => engine.close());
  engine.alter(/^POST \/containers\/create\?/, (body) => ({
    ...body,
    Image: `${image}:v1.1.0`,
    Healthcheck: { Test: ['CMD', '/bin/test', '-e', '/'] },
    HostConfig: {},
    NetworkingConfig: {},
  }));
  const { stdout: worker } = await execa('docker', ['inspect', '--format', '{{.Id}}', `${project}-worker-1`]);
  engine.alter(new RegExp(`POST \\S+/containers/(?:${worker}|${worker.slice(0, 12)})/start`), null);
  expectWords(await instance.update(impossible, { socket: engine.socket }), {
    exitCode: 5,
    says: [
      /ERROR recreate not what it was before: /,
      `${project}-app-1 runs another image`,
      `${project}-app-1 is not in network ${project}_internal`,
      `${project}-app-1 has no mount of ${directory}/data at /data`,
      `${project}-app-1 does not publish port 8080/tcp`,
      `${project}-worker-1 is exited`,
    ],
    ends: [notBack],
  });
  expect(judgeFiles(files, (await instance.snapshot()).files)).toEqual([]);
});
