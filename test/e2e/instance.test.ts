import { appendFile, chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { judgeDead } from '../judge/dead.ts';
import { judgeBroughtBack, judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { judgePins, judgeUpDoesNothing, judgeUpKeepsVersion } from '../judge/operators-up.ts';
import { clusterCompose, generatedCompose } from '../rig/compose-text.ts';
import type { Kind } from '../rig/layout.ts';
import { releaseFiles } from '../rig/releases.ts';
import { createInstanceFor } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

const bumped = (text: string) => text.replaceAll('v1.0.0', 'v1.1.0');

/** What the updater is for, by hand. */
async function updateByHand(instance: Instance, edits: Readonly<Record<string, NewText>>): Promise<void> {
  for (const [path, edit] of Object.entries(edits)) {
    await instance.write(path, typeof edit === 'string' ? edit : edit(await instance.read(path)));
  }
  await instance.compose('pull', 'app', 'worker');
  await instance.compose('up', '-d', '--no-deps', 'app', 'worker');
  await instance.waitUntilHealthy();
}

type NewText = string | ((text: string) => string);

describe('an update by hand is a good update in the eyes of the judge', () => {
  // The other kinds are in rows.test.ts and paths.test.ts, with the same expectations of what the updater does.
  test.concurrent.for<[Kind, string, Record<string, NewText>]>([
    ['default-latest', 'latest', { '.env': (text) => `${text}SVC_VERSION=v1.1.0\n` }],
    ['two-files', 'v1.0.0', { 'compose.site.yaml': bumped }],
    [
      'cluster',
      'v1.0.0',
      {
        '.env': bumped,
        'compose.yaml': generatedCompose('v1.1.0'),
        'compose.cluster.yaml': clusterCompose('v1.1.0'),
      },
    ],
  ])('%s', async ([kind, tag, changed], { onTestFinished }) => {
    const whole = kind === 'cluster';
    const options = { ...(whole ? {} : alone), kind, tag, publish: ['v1.1.0'] };
    const instance = await createInstanceFor(onTestFinished, options);
    const before = await look(instance);
    expect(before).toMatchObject({ version: 'v1.0.0', workerVersion: 'v1.0.0', strays: [], leftovers: [] });
    expect(Object.keys(before.containers)).toHaveLength(whole ? 5 : 2);

    await updateByHand(instance, changed);

    const after = await look(instance);
    expect(judgeUpdated(before, after, { version: 'v1.1.0', changed })).toEqual([]);
    expect(judgeUntouched(before, after)).not.toEqual([]);
    expect(after.boots).toEqual(expect.arrayContaining(['app v1.1.0', 'worker v1.1.0']));
  });

  test('of replicas, a project with a name of its own, and a stopped worker', async () => {
    const instance = await createInstance({ project: 'prod', up: ['--scale', 'worker=2'] });
    await instance.compose('stop', 'worker');
    const before = await look(instance);
    expect(before.workerVersion).toBeNull();
    expect(Object.keys(before.containers)).toHaveLength(6);

    await instance.write('.env', bumped(await instance.read('.env')));
    await instance.compose('up', '-d', '--no-deps', 'app');
    await instance.compose('up', '--no-start', '--no-deps', '--scale', 'worker=2', 'worker');
    const app = async () => (await instance.containers())[`${instance.project}-app-1`];
    await expect.poll(async () => (await app())?.health, { timeout: 30_000 }).toBe('healthy');

    const expected = { version: 'v1.1.0', changed: { '.env': bumped } };
    expect(judgeUpdated(before, await look(instance), expected)).toEqual([]);
  });
});

describe('what is wrong with an update is seen', () => {
  const good = { version: 'v1.1.0', changed: { '.env': bumped } };

  test('one thing at a time', async () => {
    const instance = await createInstance();
    const before = await look(instance);
    await updateByHand(instance, good.changed);
    const after = await look(instance);
    expect(judgeUpdated(before, after, good)).toEqual([]);
    /** The one fact that there is by now, after something was broken. */
    const fact = async () => {
      const facts = judgeUpdated(before, await look(instance), good);
      expect(facts).toHaveLength(1);
      return facts[0];
    };

    const env = await instance.read('.env');
    await instance.write('.env', `${env} `);
    expect(await fact()).toMatch(/^files: .*found .*SVC_VERSION=v1\.1\.0\\n /);
    await instance.write('.env', env);

    await chmod(join(instance.directory, '.env'), 0o600);
    expect(await fact()).toBe('files: expected {".env":{"mode":"640"}}, found {".env":{"mode":"600"}}');
    await chmod(join(instance.directory, '.env'), 0o640);

    await instance.write('.env.tmp-1', '');
    expect(await fact()).toMatch(/^files: .*\.env\.tmp-1/);
    await rm(join(instance.directory, '.env.tmp-1'));

    await appendFile(join(instance.directory, 'data', 'kept.txt'), 'x');
    expect(await fact()).toMatch(/^data: .*"onDisk".*"served"/);
    await instance.write('data/kept.txt', before.kept.onDisk ?? '');

    await appendFile(join(instance.directory, 'data', 'boots'), 'worker v1.0.0\n');
    expect(await fact()).toMatch(/^the old version was started after the new one: .*, worker v1\.0\.0$/);
    await instance.write('data/boots', `${after.boots.join('\n')}\n`);

    for (const [made, told] of [
      ['.svc-updater/lock', '.svc-updater/lock'],
      ['.svc-updater/backup/1/x', null],
      ['.svc-updater/backup/2/x', null],
      ['.svc-updater/backup/3/x', null],
      ['.svc-updater/backup/4/x', null],
      ['.svc-updater/backup/5/x', null],
      ['.svc-updater/backup/6/x', '6 backups, where 5 are kept'],
    ] as const) {
      await instance.write(made, '');
      const facts = judgeUpdated(before, await look(instance), good);
      expect(facts, made).toEqual(told === null ? [] : [`left over: ${told}`]);
      if (told !== null) await rm(join(instance.directory, made), { recursive: true });
    }
    await rm(join(instance.directory, '.svc-updater'), { recursive: true });

    const leftover = `0123456789ab_${instance.name}-app-1`;
    await execa('docker', ['create', '--name', leftover, `${instance.image}:v1.0.0`]);
    expect(await fact()).toBe(`left over: container ${leftover} (created)`);
    await execa('docker', ['rm', leftover]);

    const scratch = `${instance.name}-scratch`;
    const label = `svc-updater.scratch=${instance.project}`;
    await execa('docker', ['create', '--name', scratch, '--label', label, `${instance.image}:v1.0.0`]);
    expect(judgeUpdated(before, await look(instance), good)).toContain(
      `left over: scratch container ${scratch}`,
    );
    await execa('docker', ['rm', scratch]);

    await execa('docker', ['tag', `${instance.image}:v1.1.0`, `${instance.image}:v1.0.0`]);
    expect(await fact()).toMatch(/^tags: expected .*:v1\.0\.0/);
    const old = before.tags[`${instance.image}:v1.0.0`] ?? '';
    await execa('docker', ['tag', old, `${instance.image}:v1.0.0`]);
    await execa('docker', ['tag', old, `${instance.image}:v1.1.0`]);
    expect(judgeUpdated(before, await look(instance), good)).toEqual([
      expect.stringMatching(/app-1 runs sha256:\w+, and \S+:v1\.1\.0 is sha256:/),
      expect.stringMatching(/worker-1 runs sha256:\w+, and \S+:v1\.1\.0 is sha256:/),
    ]);
    await execa('docker', ['tag', after.tags[`${instance.image}:v1.1.0`] ?? '', `${instance.image}:v1.1.0`]);
    expect(judgeUpdated(before, await look(instance), good)).toEqual([]);

    await instance.compose('restart', 'db');
    expect(await fact()).toMatch(/^other containers: .*db-1/);
  });

  test('a worker left behind, and an app that is gone', async () => {
    const release = { volumes: ['/cache'] };
    const instance = await createInstance({ ...alone, release, publish: [] });
    await instance.publish('v1.1.0', release);
    const before = await look(instance);
    expect(await judgePins(instance, 'v1.0.0')).toEqual([]);
    expect(await judgeDead(instance, before, [before.files])).toEqual([]);
    await instance.write('.env', bumped(await instance.read('.env')));
    await instance.compose('up', '-d', '--no-deps', 'app');
    await instance.waitUntilHealthy();
    const half = await look(instance);
    expect(judgeUpdated(before, half, good)).toEqual([
      'worker writes v1.0.0, not v1.1.0',
      expect.stringMatching(/^new containers: .*worker-1/),
      expect.stringMatching(/^app and worker run 2 images: /),
      expect.stringMatching(/^the old image still runs: /),
    ]);

    expect(judgeUntouched(before, half)).not.toEqual([]);

    const named = `${instance.image}:v1.1.0`;
    expect(await judgePins(instance, 'v1.0.0')).toEqual(
      Array(2).fill(`the files name ${named}, and v1.0.0 runs`),
    );
    const up = await judgeUpKeepsVersion(instance, ...alone.up);
    expect(up).toContain("after the operator's own docker compose up -d: worker writes v1.1.0, not v1.0.0");
    expect(await judgeUpDoesNothing(instance)).toContainEqual(
      expect.stringMatching(/^after the operator's own docker compose up -d: containers: .*db-1/),
    );

    await instance.compose('rm', '--stop', '--force', 'app');
    expect((await look(instance)).version).toBeNull();
    const app = `${instance.name}-app-1`;
    await execa('docker', ['volume', 'rm', before.containers[app]?.volumes['/cache'] ?? '']);
    const dead = await judgeDead(instance, before, [before.files]);
    expect(dead).toEqual([
      expect.stringMatching(/^\.env is neither the old nor the new one: /),
      expect.stringMatching(/^other containers: .*db-1/),
      `the anonymous volume at /cache of ${app} is gone`,
    ]);
  });

  test('going back is new containers of the old image, and nothing else', async () => {
    const instance = await createInstance();
    const before = await look(instance);
    expect(judgeUntouched(before, await look(instance))).toEqual([]);

    await instance.compose('up', '-d', '--no-deps', '--force-recreate', 'app', 'worker');
    await instance.waitUntilHealthy();
    const back = await look(instance);
    expect(judgeBroughtBack(before, back)).toEqual([]);
    expect(judgeUntouched(before, back)).toEqual([
      expect.stringMatching(/^containers: .*app-1.*worker-1/),
      expect.stringMatching(/^something has been started: .* v1\.0\.0/),
    ]);

    await updateByHand(instance, good.changed);
    const facts = judgeBroughtBack(before, await look(instance), { '.env': bumped });
    expect(facts).toEqual([
      'app answers v1.1.0, not v1.0.0',
      'worker writes v1.1.0, not v1.0.0',
      expect.stringMatching(/^containers brought back: .*"image"/),
      expect.stringMatching(/^the new version has run: /),
    ]);
  });
});

describe('what the images ship', () => {
  test('is as the catalogue says, and compose takes it', async () => {
    const instance = await createInstance({ ...alone, kind: 'generated', publish: [] });
    const listed = async (tag: keyof typeof releaseFiles, directory = '/usr/share/svc/release') => {
      await instance.publish(tag, { version: '1.1.0', ...releaseFiles[tag] });
      const image = `${instance.image}:${tag}`;
      const run = [
        'run',
        '--rm',
        '--name',
        `${instance.name}-ls`,
        '--entrypoint',
        '/bin/ls',
        image,
        '-l',
        directory,
      ];
      return (await execa('docker', run, { all: true, reject: false })).all;
    };
    expect(await listed('elsewhere', '/opt/svc/files')).toContain('compose.yaml');
    expect(await listed('missing')).toMatch(/No such file/);
    expect(await listed('withoutCluster')).not.toContain('cluster');
    expect(await listed('linked')).toContain('compose.yaml -> real.yaml');
    expect(await listed('huge')).toMatch(/ 1049\d{3} .* compose\.yaml/);
    expect(releaseFiles.unmarked.files['compose.yaml']).not.toContain('svc:generated');

    const before = await instance.compose('config');
    await instance.write('compose.yaml', releaseFiles.addsService.files['compose.yaml']);
    expect(await instance.compose('config', '--services')).toMatch(/^cache$/m);
    await instance.write('compose.yaml', releaseFiles.changesNetwork.files['compose.yaml']);
    const after = await instance.compose('config');
    expect(after).toContain('com.docker.network.driver.mtu');
    expect(before).not.toContain('com.docker.network.driver.mtu');
  });
});

describe('a run of the updater', () => {
  test('is watched, stopped and killed', async () => {
    const instance = await createInstance(alone);
    const image = `${instance.image}:v1.0.0`;

    const stopped = instance.startUpdate(['app'], { image });
    await stopped.waitFor(/listening on \d+/);
    expect((await instance.snapshot()).strays).toEqual([`${stopped.name} (running)`]);
    await stopped.stop();
    expect(await stopped.done).toMatchObject({ exitCode: 0, lines: [] });

    const killed = instance.startUpdate(['app'], { image, keep: true });
    await killed.waitFor('listening');
    await killed.kill();
    expect((await killed.done).exitCode).toBe(137);
    await expect(killed.waitFor('nothing like this')).rejects.toThrow('the updater ended');

    const refused = await instance.update(['cat', '/proc/mounts'], {
      image,
      docker: ['--entrypoint', '/bin/busybox'],
      mount: '/compose',
      readOnly: true,
      env: { SVC_VERSION: 'v9.9.9' },
    });
    expect(refused.log).toMatch(/ \/compose \S+ ro[, ]/);
    expect(refused.log).toContain('/docker.sock ');
  });
});
