import { execa } from 'execa';
import { afterAll, describe, expect, test } from 'vitest';
import { stepKinds } from '../../src/updater/compose/loop/executors.ts';
import { composeText, generatedCompose } from '../rig/compose-text.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { type UpdateResult, updaterImage } from '../rig/updater-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';
import { createWithData, expectRestored, statesOf } from './support/own-data.ts';

// An updater is killed before each step that there is, one container after the other, until one comes to the end: what that one
// says is true. A new kind of step is missing below until some story gets there.

/** Ends the updater at the first step that none was killed at, as a kill would, and says which. */
const killer = `import{subscribe}from'node:diagnostics_channel';import{writeSync}from'node:fs';
  const known=process.env.KILLED.split(',');
  subscribe('svc-updater.step',({goal,kind})=>{const name=goal+' '+kind;
    if(!known.includes(name)){writeSync(2,'killed before: '+name+'\\n');process.reallyExit(137)}})`;

/** `SVC_UPDATER_OTHER_IMAGE`, such as that of an earlier release, is used by every second updater: each continues what the other began. */
const images = [updaterImage, process.env.SVC_UPDATER_OTHER_IMAGE ?? updaterImage];

const reached = new Set<string>();

/** The end of the first updater that was not killed, with the steps that the others were killed at. */
async function killAtEveryStep(
  instance: Instance,
  args: readonly string[],
): Promise<{ last: UpdateResult; killed: string[] }> {
  const killed: string[] = [];
  for (;;) {
    const hook = `--import=data:text/javascript,${encodeURIComponent(killer)}`;
    const env = { NODE_OPTIONS: hook, KILLED: killed.join(',') };
    const last = await instance.update(args, { env, image: images[killed.length % 2] ?? updaterImage });
    const name = /killed before: ([a-z- ]+)/.exec(last.log)?.[1];
    if (name === undefined) return { last, killed };
    expect(last.exitCode, last.log).toBe(137);
    expect(killed, last.log).not.toContain(name);
    killed.push(name);
    reached.add(name.replace(/^(?:update|rollback) /, ''));
  }
}

/** `migrate` runs once before the app, and the worker waits for the app. */
const waiting = (c: LayoutContext) => ({
  files: {
    'compose.yaml': composeText({
      app: `${c.image}:\${SVC_VERSION}`,
      parts: c.parts,
      extra: { worker: 'depends_on: { app: { condition: service_healthy } }' },
    })
      .replace('depends_on: [db]', 'depends_on: { migrate: { condition: service_completed_successfully } }')
      .replace(
        'volumes:\n  db:\n',
        `  migrate:
    image: ${c.image}:\${SVC_VERSION}
    command: [once, migrate]
    volumes: ['./data:/data']
    environment: { DB_PASSWORD: "\${DB_PASSWORD:?}" }
volumes:
  db:
`,
      ),
    '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
  },
  flags: [],
});

// Some thirty runs, each with its own updater.
const manyRuns = { timeout: 600_000 };

describe.concurrent('killed before every step, and run again', manyRuns, () => {
  test('a good release is there', async ({ onTestFinished }) => {
    const up = [...alone.up, '--scale', 'worker=2'];
    const instance = await createInstance({ ...alone, up, layout: waiting, publish: [] }, onTestFinished);
    const ready = ['sh', '-c', 'cat /etc/svc-version >>/data/ready'];
    await instance.publish('v1.1.0', { labels: { 'svc.ready': JSON.stringify(ready) } });
    const stopped = `${instance.project}-worker-2`;
    await execa('docker', ['stop', stopped]);
    await instance.write('data/migrate', '0\n');
    const { last, killed } = await killAtEveryStep(instance, ['--target', 'v1.1.0']);
    expect(last.exitCode, last.log).toBe(0);
    expect(last.log).toMatch(/done updated v1\.0\.0 → v1\.1\.0 in /);
    expect(await instance.version()).toBe('v1.1.0');
    expect((await instance.containers())[stopped]).toMatchObject({ status: 'exited' });
    expect(killed).toEqual(expect.arrayContaining(['update pull', 'update up', 'update verify']));
    expect(await instance.read('data/ready')).toBe('v1.1.0\n');
  });

  test('a release that cannot be started leaves the old one', async ({ onTestFinished }) => {
    const instance = await createInstance({ ...alone, publish: ['v1.1.3'], impatient: true }, onTestFinished);
    const { last, killed } = await killAtEveryStep(instance, ['--target', 'v1.1.3', '--wait-timeout', '20']);
    expect(last.exitCode, last.log).toBe(4);
    expect(last.log).toMatch(/ the original files are in place, and v1\.0\.0 is running again\. /);
    expect(await instance.version()).toBe('v1.0.0');
    expect(await statesOf(instance)).toMatchObject({ app: 'running', worker: 'running' });
    expect(await instance.read('.env')).toContain('SVC_VERSION=v1.0.0');
    expect(killed).toContain('rollback compare');
  });

  test('a bad release with a restore point leaves the old one with its data', async ({ onTestFinished }) => {
    const instance = await createWithData({ publish: ['v1.1.1'] }, onTestFinished);
    const args = ['--target', 'v1.1.1', '--restore-point', '--wait-timeout', '8'];
    const { last, killed } = await killAtEveryStep(instance, args);
    expect(last.exitCode, last.log).toBe(4);
    expect(last.log).toMatch(
      /done failed \(rolled-back\): v1\.0\.0 is running again with the data saved at /,
    );
    await expectRestored(instance, last.log);
    expect(killed).toContain('rollback restore-data');
  });
});

/** The release adds a cache, which the app awaits, and no longer has the worker. */
const otherServices = (version: string) =>
  generatedCompose(version, {
    worker: null,
    service: { cache: 'tunnel' },
    extra: { cache: 'healthcheck: { test: [CMD, /bin/test, -e, /etc/svc-version], interval: 1s }' },
  }).replace(
    'depends_on: [db]',
    'depends_on: { db: { condition: service_started }, cache: { condition: service_healthy } }',
  );

describe.concurrent(
  'killed before every step of a release with other services, and run again',
  manyRuns,
  () => {
    const installed: InstanceOptions = {
      kind: 'generated',
      up: ['--no-deps', 'app', 'worker', 'db'],
      publish: [],
    };

    test('a good release is there', async ({ onTestFinished }) => {
      const instance = await createInstance(installed, onTestFinished);
      await instance.publish('v1.1.0', { files: { 'compose.yaml': otherServices('v1.1.0') } });
      const { last, killed } = await killAtEveryStep(instance, ['--target', 'v1.1.0']);
      expect(last.exitCode, last.log).toBe(0);
      expect(await statesOf(instance)).toEqual({ app: 'running', cache: 'running', db: 'running' });
      expect(killed).toContain('update remove-old');
    });

    test('a release that cannot be started leaves the old one', async ({ onTestFinished }) => {
      const instance = await createInstance(installed, onTestFinished);
      const entrypoint = ['/bin/there-is-no-such-file'];
      await instance.publish('v1.1.3', { entrypoint, files: { 'compose.yaml': otherServices('v1.1.3') } });
      const { last, killed } = await killAtEveryStep(instance, [
        '--target',
        'v1.1.3',
        '--wait-timeout',
        '20',
      ]);
      expect(last.exitCode, last.log).toBe(4);
      expect(await statesOf(instance)).toEqual({ app: 'running', worker: 'running', db: 'running' });
      expect(killed).toContain('rollback remove-new');
    });
  },
);

/** Steps that another process has to cause, with the test that does. */
const causedByOthers = {
  'give-name': 'unit: replace-steps',
  'remove-leftovers': 'beside',
  'restore-again': 'campaign: restore-kills',
  'restore-removed': 'pruned',
  'remove-orphan': 'blueprint',
  rebuild: 'blueprint',
  'give-up': 'unit: restore-steps',
  connect: 'networks',
  'stop-old': 'unit: restore-steps',
  'leave-new-version': 'save',
};

afterAll(() => {
  const missing = stepKinds.filter((kind) => !reached.has(kind) && !(kind in causedByOthers));
  expect(missing).toEqual([]);
});
