import { execa } from 'execa';
import { afterAll, describe, expect, test } from 'vitest';
import { composeStepKinds } from '../../src/updater/compose/loop/executors.ts';
import { composeText, generatedCompose } from '../rig/compose-text.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { type UpdateResult, updaterImage } from '../rig/updater-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';
import { createWithData, expectRestored, statesOf } from './support/own-data.ts';

// Each updater is killed before another step, until one completes. Its result must be correct. The check at the end of
// this file fails for a new kind of step until a test reaches that step.

/** Exits like a killed updater before the first step that is not in `KILLED`, and prints the step. */
const killer = `import{subscribe}from'node:diagnostics_channel';import{writeSync}from'node:fs';
  const known=process.env.KILLED.split(',');
  subscribe('svc-updater.step',({goal,kind})=>{const name=goal+' '+kind;
    if(!known.includes(name)){writeSync(2,'killed before: '+name+'\\n');process.reallyExit(137)}})`;

/** Every second updater uses `SVC_UPDATER_OTHER_IMAGE`, such as an earlier release, and continues the other's run. */
const images = [updaterImage, process.env.SVC_UPDATER_OTHER_IMAGE ?? updaterImage];

const reached = new Set<string>();

/** Returns the result of the first updater that was not killed, and the steps before which the others were killed. */
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

/** A project whose `migrate` runs once before the app, and whose worker waits for the app. */
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

// About thirty runs, each with its own updater.
const manyRuns = { timeout: 600_000 };

describe.concurrent('an update that is killed before every step and run again', manyRuns, () => {
  test('installs a good release', async ({ onTestFinished }) => {
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

  test('restores the old version if the release cannot be started', async ({ onTestFinished }) => {
    const instance = await createInstance({ ...alone, publish: ['v1.1.3'], impatient: true }, onTestFinished);
    const { last, killed } = await killAtEveryStep(instance, ['--target', 'v1.1.3', '--wait-timeout', '20']);
    expect(last.exitCode, last.log).toBe(4);
    expect(last.log).toMatch(/ the original files are in place, and v1\.0\.0 is running again\. /);
    expect(await instance.version()).toBe('v1.0.0');
    expect(await statesOf(instance)).toMatchObject({ app: 'running', worker: 'running' });
    expect(await instance.read('.env')).toContain('SVC_VERSION=v1.0.0');
    expect(killed).toContain('rollback compare');
  });

  test('restores the old version and its data from a restore point if the release is bad', async ({
    onTestFinished,
  }) => {
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

/** The release adds a cache, on which the app depends, and no longer has the worker. */
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
  'an update to a release with other services that is killed before every step and run again',
  manyRuns,
  () => {
    const installed: InstanceOptions = {
      kind: 'generated',
      up: ['--no-deps', 'app', 'worker', 'db'],
      publish: [],
    };

    test('installs a good release', async ({ onTestFinished }) => {
      const instance = await createInstance(installed, onTestFinished);
      await instance.publish('v1.1.0', { files: { 'compose.yaml': otherServices('v1.1.0') } });
      const { last, killed } = await killAtEveryStep(instance, ['--target', 'v1.1.0']);
      expect(last.exitCode, last.log).toBe(0);
      expect(await statesOf(instance)).toEqual({ app: 'running', cache: 'running', db: 'running' });
      expect(killed).toContain('update remove-old');
    });

    test('restores the old version if the release cannot be started', async ({ onTestFinished }) => {
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

/** Steps that only another process can cause, with the test that covers them. */
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
  const missing = composeStepKinds.filter((kind) => !reached.has(kind) && !(kind in causedByOthers));
  expect(missing).toEqual([]);
});
