// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { execa } from 'execa';
import { describe, expect, inject, test } from 'vitest';
import { look } from '../judge/look.ts';
import { generatedCompose } from '../rig/compose-text.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { publish } from '../rig/registry.ts';
import { createInstanceFor, expectAttempt, expectWords } from './support/attempt.ts';
import type { Instance } from './support/instance.ts';
import { statesOf } from './support/own-data.ts';

// The compose file of a release has other services than the installed file: new services that the app needs, fewer
// services, or a database of another major version. The owner may have made the same changes.

const toNext = ['--target', 'v1.1.0'];
const generated: InstanceOptions = {
  kind: 'generated',
  up: ['--no-deps', 'app', 'worker', 'db'],
  publish: [],
};

/** The app needs a cache with its own volume. The cache is healthy if the file `proof` exists. */
const needsCache = (proof = '/etc/svc-version') =>
  generatedCompose('v1.1.0', {
    service: { cache: 'tunnel' },
    extra: {
      cache: `volumes: ['cache:/cache']
healthcheck: { test: [CMD, /bin/test, -e, ${proof}], interval: 1s, retries: 3 }`,
    },
  })
    .replace('depends_on: [db]', 'depends_on: { db: {}, cache: { condition: service_healthy } }')
    .replace('depends_on: { db: {}', 'depends_on: { db: { condition: service_started }')
    .replace('volumes:\n  db:\n', 'volumes:\n  db:\n  cache:\n');

const volumesOf = async ({ project }: Instance) =>
  (await execa('docker', ['volume', 'ls', '-q', '--filter', `name=${project}_`])).stdout.split('\n').sort();

describe.concurrent('an update to a release that needs a new service', () => {
  test('starts the new service before the app, and starts no service that the app does not need', async ({
    onTestFinished,
  }) => {
    const instance = await createInstanceFor(onTestFinished, generated);
    const text = needsCache().replace(
      '\nvolumes:\n  db:',
      '\n  extra: { image: "${SVC_PARTS:?}/proxy:1" }\nvolumes:\n  db:',
    );
    await instance.publish('v1.1.0', { files: { 'compose.yaml': text } });
    const result = await instance.update(toNext);
    expectWords(result, {
      exitCode: 0,
      says: [
        'starting cache, then stopping worker, then replacing app and worker',
        'these new services in this release were not started: extra',
      ],
      ends: [/^updated v1\.0\.0 → v1\.1\.0/],
    });
    expect(await statesOf(instance)).toEqual({
      app: 'running',
      worker: 'running',
      db: 'running',
      cache: 'running',
    });
    const started = async (service: string) =>
      (await instance.containers())[`${instance.project}-${service}-1`];
    expect(Date.parse((await started('cache'))?.startedAt ?? '')).toBeLessThan(
      Date.parse((await started('app'))?.startedAt ?? ''),
    );
  });

  test.for([
    [
      'does not become healthy',
      'v1.1.0',
      '/nowhere',
      /^failed \(recreate-failed\): the original files are in place, and v1\.0\.0 is running again/,
    ],
    ['is fine, but the app cannot start', 'v1.1.3', '/etc/svc-version', /^failed \(recreate-failed\)/],
  ] as const)(
    'removes the new service again if the service %s',
    async ([, version, proof, ending], { onTestFinished }) => {
      const instance = await createInstanceFor(onTestFinished, generated);
      const text = needsCache(proof).replace('v1.1.0', version);
      const broken = version === 'v1.1.3' ? { entrypoint: ['/bin/there-is-no-such-file'] } : {};
      await instance.publish(version, { ...broken, files: { 'compose.yaml': text } });
      const before = await look(instance);
      const result = await instance.update(['--target', version, '--wait-timeout', '8']);
      expectWords(result, { exitCode: 4, says: [], ends: [ending] });
      expect(await statesOf(instance)).toEqual({ app: 'running', worker: 'running', db: 'running' });
      expect((await look(instance)).files).toEqual(before.files);
      expect(await volumesOf(instance)).toEqual([`${instance.project}_cache`, `${instance.project}_db`]);
    },
  );

  test('removes the new service in a rollback with a restore point', async ({ onTestFinished }) => {
    const layout = { ...generated, text: { extra: { db: '' } } };
    const instance = await createInstanceFor(onTestFinished, layout);
    await instance.publish('v1.1.1', {
      env: { FAULT_APP: 'exit', FAULT_WORKER: 'exit' },
      files: { 'compose.yaml': needsCache().replace('v1.1.0', 'v1.1.1') },
    });
    await instance.write('.svc-updater.yaml', 'data: { db: none }\n');
    const result = await instance.update(['--target', 'v1.1.1', '--restore-point', '--wait-timeout', '8']);
    expectWords(result, { exitCode: 4, says: ['starting cache'], ends: [/^failed \(rolled-back\)/] });
    expect(await statesOf(instance)).toEqual({ app: 'running', worker: 'running', db: 'running' });
    expect(await volumesOf(instance)).toContain(`${instance.project}_cache`);
  });

  test("is refused if the owner's file adds the service, with the command that starts the service", async ({
    onTestFinished,
  }) => {
    const instance = await createInstanceFor(onTestFinished, { up: ['--no-deps', 'app', 'worker', 'db'] });
    const file = 'compose.prod.yaml';
    const text = await instance.read(file);
    const cache = `  cache:\n    image: ${inject('host').parts}/tunnel:1\n    command: tunnel\nvolumes:\n  db:`;
    await instance.write(
      file,
      text.replace('depends_on: [db]', 'depends_on: [db, cache]').replace('volumes:\n  db:', cache),
    );
    const command = `docker compose -p ${instance.project} -f ${file} up -d cache`;
    await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: ['the updated services depend on cache, but cache has no container'],
      ends: ['refused (missing-service): nothing was changed', `Next: Run ${command} first.`],
    });
    await instance.compose('up', '-d', '--no-deps', 'cache');
    expectWords(await instance.update(toNext), { exitCode: 0, says: [], ends: ['updated v1.0.0 → v1.1.0'] });
  });
});

describe.concurrent('an update to a release with fewer services', () => {
  const withoutWorker = (version: string) => generatedCompose(version, { worker: null });

  test('stops and removes the worker that the release has merged into the app', async ({
    onTestFinished,
  }) => {
    const instance = await createInstanceFor(onTestFinished, generated);
    await instance.publish('v1.1.0', { files: { 'compose.yaml': withoutWorker('v1.1.0') } });
    expectWords(await instance.update(toNext), {
      exitCode: 0,
      says: [
        'stopping worker, then replacing app, then removing worker',
        /removed \S+-worker-1, because the release no longer has the service worker/,
      ],
      ends: [/^updated v1\.0\.0 → v1\.1\.0/],
      never: ['worker runs'],
    });
    expect(await statesOf(instance)).toEqual({ app: 'running', db: 'running' });
  });

  test('restores the removed worker if the app does not become healthy', async ({ onTestFinished }) => {
    const instance = await createInstanceFor(onTestFinished, generated);
    await instance.publish('v1.1.1', {
      env: { FAULT_APP: 'exit' },
      files: { 'compose.yaml': withoutWorker('v1.1.1') },
    });
    await instance.write('.svc-updater.yaml', 'data: { db: none }\n');
    const args = ['--target', 'v1.1.1', '--restore-point', '--wait-timeout', '8'];
    const before = (await instance.containers())[`${instance.project}-worker-1`];
    const result = await instance.update(args);
    expectWords(result, { exitCode: 4, says: ['removing worker'], ends: [/^failed \(rolled-back\)/] });
    const after = (await instance.containers())[`${instance.project}-worker-1`];
    expect(after).toMatchObject({ status: 'running', reference: before?.reference });
  });

  test('is refused if an override file still configures a removed service, with file and line', async ({
    onTestFinished,
  }) => {
    const instance = await createInstanceFor(onTestFinished, {
      ...generated,
      text: { service: { metrics: 'tunnel' } },
      files: () => ({ 'compose.override.yaml': '# mine\nservices:\n  metrics:\n    labels: { own: "1" }\n' }),
    });
    await instance.publish('v1.1.0', { files: { 'compose.yaml': generatedCompose('v1.1.0') } });
    await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: ['service "metrics" has neither an image nor a build context specified'],
      ends: [
        'refused (compose-invalid): nothing was changed',
        'services.metrics in compose.override.yaml line 3',
      ],
    });
    for (const use of [
      'depends_on: [metrics]',
      'volumes_from: [metrics]',
      'network_mode: "service:metrics"',
      'networks: [gone]',
    ]) {
      await instance.write(
        'compose.override.yaml',
        `services:\n  own:\n    image: ${inject('host').parts}/tunnel:1\n    ${use}\n`,
      );
      if (use.includes('gone')) continue;
      await expectAttempt(instance, toNext, {
        exitCode: 3,
        says: ['"metrics"'],
        ends: [
          'refused (compose-invalid): nothing was changed',
          'services.own in compose.override.yaml line 2',
        ],
      });
    }
  });
});

test.concurrent('an update warns of another major version of a database, and no advised command recreates the database', async ({
  onTestFinished,
}) => {
  const instance = await createInstanceFor(onTestFinished, {
    ...generated,
    text: { extra: { db: '' } },
  });
  const { registry } = inject('host');
  const postgres = `${instance.name}/postgres`;
  for (const tag of ['15', '17']) await publish(registry, postgres, tag);
  const of = (text: string, tag: string) =>
    text.replace('${SVC_PARTS:?}/db:1', `${registry}/${postgres}:${tag}`);
  await instance.write('compose.yaml', of(await instance.read('compose.yaml'), '15'));
  await instance.compose('up', '-d', '--no-deps', 'db');
  const text = of(generatedCompose('v1.1.0', { service: { extra: 'tunnel' } }), '17');
  await instance.publish('v1.1.0', { files: { 'compose.yaml': text } });
  const before = (await instance.containers())[`${instance.project}-db-1`];
  const result = await instance.update(toNext);
  const warning = `the files change db from ${registry}/${postgres}:15 to ${registry}/${postgres}:17, a different major version`;
  expectWords(result, {
    exitCode: 0,
    says: [
      warning,
      'Dump the data of db first',
      `to start them: docker compose -p ${instance.project} up -d --no-deps extra`,
    ],
    ends: [/^updated v1\.0\.0 → v1\.1\.0/],
    never: ['up -d db', 'recreate them now'],
  });
  expect((await instance.containers())[`${instance.project}-db-1`]).toEqual(before);
  // The advice of later runs must not recreate the database either.
  await instance.write('compose.yaml', text.replace("'./data:/data'", "'./other:/data'"));
  await expectAttempt(instance, ['--target', 'v1.1.0'], {
    exitCode: 3,
    says: [],
    ends: ['refused (drift)', 'with docker compose up -d --no-deps app worker first'],
  });
});

test.concurrent('an update is refused while a worker is running that the owner has deleted from the compose file', async ({
  onTestFinished,
}) => {
  const instance = await createInstanceFor(onTestFinished, { up: ['--no-deps', 'app', 'worker', 'db'] });
  const file = 'compose.prod.yaml';
  const text = await instance.read(file);
  await instance.write(file, text.replace(/ {2}worker:\n(?: {4}.*\n)+/, ''));
  const worker = `${instance.project}-worker-1`;
  await expectAttempt(instance, toNext, {
    exitCode: 3,
    says: [`${worker} belongs with app, but the compose files no longer have the service worker`],
    ends: [
      'refused (unlisted-services): nothing was changed',
      `docker stop ${worker} && docker rm ${worker}`,
      '--exclude worker',
    ],
  });
  await execa('docker', ['rm', '-f', worker]);
  expectWords(await instance.update(toNext), { exitCode: 0, says: [], ends: ['updated v1.0.0 → v1.1.0'] });
});
