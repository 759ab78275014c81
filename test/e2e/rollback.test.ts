import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { startBadEngine } from '../rig/bad-engine.ts';
import { expectWords } from './support/attempt.ts';
import type { Instance } from './support/instance.ts';
import {
  allUp,
  createWithData,
  during,
  heldImages,
  ownData,
  pointsOf,
  statesOf,
} from './support/own-data.ts';

// docs/contract.md 5.23 to 5.25: a restore ends with the data of the restore point, or says that it did not.

/** Its app and worker exit at once. */
const bad = ['--target', 'v1.1.1', '--restore-point', '--wait-timeout', '20'];
const good = ['--target', 'v1.1.0', '--restore-point'];
const rolledBack =
  /^failed \(rolled-back\): v1\.0\.0 is running again with the data saved at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. /;

async function expectRestored(instance: Instance, log: string): Promise<void> {
  await instance.waitUntilHealthy();
  expect(await statesOf(instance), log).toEqual(allUp);
  expect(await instance.version(), log).toBe('v1.0.0');
  expect(await instance.read('data/note'), log).toBe('of v1.0.0\n');
  expect(await instance.read('.env')).toContain('SVC_VERSION=v1.0.0');
  expect((await instance.boots()).join(), log).not.toContain('v1.1.1');
}

const spoil = (instance: Instance) => instance.write('data/note', 'of v1.1.1\n');

test('an updater that is killed between two services is continued, and the bad release is not tried again', async () => {
  const instance = await createWithData({ publish: ['v1.1.1'] });
  const held = { args: bad, verb: 'restore', k: 2 } as const;
  const killed = await during(instance, held, async (run) => {
    await spoil(instance);
    await run.kill();
  });
  expect(killed.exitCode).toBe(137);
  expect(await statesOf(instance)).toMatchObject({ db: 'exited' });
  const next = await instance.update(bad);
  expectWords(next, {
    exitCode: 4,
    says: [/interrupted/, 'restoring the data of v1.0.0'],
    ends: [rolledBack],
    never: [/ (?:pull|save|recreate) /],
  });
  await expectRestored(instance, next.log);
});

test('a restore that fails leaves everything stopped, and the next update only finishes it', async () => {
  const instance = await createWithData({ publish: ['v1.1.1'] });
  const note = join(instance.directory, 'data', 'note');
  onTestFinished(async () => {
    await execa('chattr', ['-i', note], { reject: false });
  });
  const broken = {
    exitCode: 5,
    says: [],
    ends: [
      /^broken \(data-not-restored\): .*(?:app|worker|db).* stopped, because the data of v1\.0\.0 is not restored yet/,
    ],
  };
  const failed = await during(instance, { args: bad, verb: 'restore' }, async () => {
    await spoil(instance);
    await execa('chattr', ['+i', note]);
  });
  expectWords(failed, broken);
  const stopped = await statesOf(instance);
  expect(Object.values(stopped), failed.log).not.toContain('running');
  expectWords(await instance.update(bad), broken);
  await execa('chattr', ['-i', note]);
  const next = await instance.update(bad);
  expectWords(next, { exitCode: 4, says: [], ends: [rolledBack], never: [/ (?:pull|save|recreate) /] });
  await expectRestored(instance, next.log);
});

test('a new version that is started during each restore: everything stays stopped, and the next update restores again', async () => {
  const instance = await createWithData({ publish: ['v1.1.1'] });
  const socket = `${instance.directory}-starts.sock`;
  const engine = await startBadEngine(socket);
  onTestFinished(async () => {
    await engine.close();
    await rm(socket, { force: true });
  });
  const db = Object.values(await instance.containers()).find(({ service }) => service === 'db')?.id ?? '';
  const up = ['compose', 'up', '-d', '--no-deps', 'app'];
  let restores = 0;
  engine.fail(async (asked) => {
    const isStart = /^POST \S*\/containers\/\w+\/start/.test(asked) && asked.includes(db);
    // The first start of the database is that after its data was saved.
    if (isStart && ++restores > 1)
      await execa('docker', up, { cwd: instance.directory, env: { SVC_VERSION: 'v1.1.1' } });
    return false;
  });
  const broken = await instance.update(bad, { socket });
  expectWords(broken, {
    exitCode: 5,
    says: [/restoring once more/],
    ends: [/^broken \(data-not-restored\): /],
  });
  expect(restores).toBe(4);
  expect(Object.values(await statesOf(instance)), broken.log).not.toContain('running');
  await spoil(instance);
  const next = await instance.update(bad);
  expectWords(next, { exitCode: 4, says: ['restoring the data of v1.0.0'], ends: [rolledBack] });
  await expectRestored(instance, next.log);
});

test('a tag names the old image until the data is saved, and again after a rollback', async () => {
  const instance = await createWithData({
    tag: 'latest',
    publish: [],
    files: ({ port }) => ({ '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${port}\n` }),
    layout: (c) => {
      const { files, flags } = ownData(c);
      const text = files['compose.yaml'] ?? '';
      return { files: { ...files, 'compose.yaml': text.replaceAll(/\$\{SVC_VERSION\}/g, 'latest') }, flags };
    },
  });
  const idOf = async () =>
    (await execa('docker', ['image', 'inspect', '--format', '{{.Id}}', `${instance.image}:latest`])).stdout;
  const old = await idOf();
  await instance.publish('latest', { version: '1.1.0' });
  const held = { args: ['--restore-point'], verb: 'cold' } as const;
  let whileSaving = '';
  const updated = await during(instance, held, async () => {
    whileSaving = await idOf();
  });
  expect(updated.exitCode, updated.log).toBe(0);
  expect(whileSaving).toBe(old);
  expect(await idOf()).not.toBe(old);
  const back = await instance.update(['rollback', '--yes']);
  expect(back.exitCode, back.log).toBe(0);
  expect(await idOf()).toBe(old);
  expect(await instance.version()).toBe('v1.0.0');
});

test('two instances that share --restore-dir have restore points of their own', async () => {
  const shared = join(inject('host').directory, 'shared-points');
  await mkdir(shared, { mode: 0o700 });
  const options = { volumes: [`${shared}:${shared}`] };
  const [one, other] = [await createWithData(), await createWithData()];
  const place = ['--restore-dir', shared];
  for (const instance of [one, other]) {
    const { exitCode, log } = await instance.update([...good, ...place], options);
    expect(exitCode, log).toBe(0);
  }
  expect(await pointsOf(one, shared)).toHaveLength(2);
  const removed = await one.update(['restore-point', 'rm', ...place], options);
  expect(removed.exitCode, removed.log).toBe(0);
  const [left = '', ...more] = await pointsOf(one, shared);
  expect(more).toEqual([]);
  expect(left).toContain(other.project);
  expect(await heldImages(one)).toEqual([]);
  expect(await heldImages(other)).toHaveLength(3);
  expectWords(await one.update(['rollback', ...place], options), {
    exitCode: 3,
    says: [],
    ends: [/^refused \(no-point\)/],
  });
  const back = await other.update(['rollback', '--yes', ...place], options);
  expect(back.exitCode, back.log).toBe(0);
  expect(await other.version()).toBe('v1.0.0');
});

test('a rollback is refused if the restore point or the project has changed', async () => {
  const instance = await createWithData();
  const { exitCode, log } = await instance.update(good);
  expect(exitCode, log).toBe(0);
  const [point = ''] = await pointsOf(instance);
  const record = join(point, 'point.json');
  /** Puts that text in place of the other until the rollback was refused. */
  const replacing = (path: string, from: string, to: string) => async () => {
    const text = await readFile(path, 'utf8');
    expect(text).toContain(from);
    await writeFile(path, text.replace(from, to));
    return () => writeFile(path, text);
  };
  const copy = join(point, '1-app', '0', 'note');
  const changes: [ends: RegExp, change: () => Promise<() => Promise<unknown>>][] = [
    [/^refused \(point-damaged\): /, replacing(record, '"version": "v1.0.0"', '"version": "v1.0.1"')],
    [
      /^refused \(point-unreadable\): /,
      async () => {
        await rename(record, `${record}-away`);
        await mkdir(record);
        return async () => {
          await rm(record, { recursive: true });
          await rename(`${record}-away`, record);
        };
      },
    ],
    [
      /^refused \(not-as-left\): /,
      replacing(join(instance.directory, 'compose.yaml'), 'timeout: 3s', 'timeout: 4s'),
    ],
  ];
  for (const [ends, change] of changes) {
    const undo = await change();
    expectWords(await instance.update(['rollback']), { exitCode: 3, says: [], ends: [ends] });
    await undo();
  }
  const mend = await replacing(record, '"version": "v1.0.0"', '"version": "v1.0.1"')();
  expectWords(await instance.update(['restore-point', 'rm']), {
    exitCode: 3,
    says: [`the restore point in ${point} could not be removed: `],
    ends: [new RegExp(`^refused \\(point-damaged\\): nothing was changed\\..* rm -r ${point}\\.$`)],
  });
  expect(await pointsOf(instance)).toEqual([point]);
  await mend();
  const again = await instance.update(['rollback']);
  expect(again.exitCode, again.log).toBe(0);
  await replacing(copy, 'v1.0.0', 'v1.0.1')();
  const damaged = {
    exitCode: 3,
    says: ['the copy of app:/data in '],
    ends: [/^refused \(point-damaged\): nothing was changed, v1\.1\.0 runs on/],
  };
  expectWords(await instance.update(['rollback', '--yes']), damaged);
});
