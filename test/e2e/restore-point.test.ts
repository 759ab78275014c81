import { execa } from 'execa';
import { expect, test } from 'vitest';
import { listHolders, listImages } from '../rig/engine-api.ts';
import { expectWords } from './support/attempt.ts';
import { expectDataBack, postgres } from './support/databases.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';
import { during, ownData } from './support/own-data.ts';

// docs/contract.md 5.20 to 5.24: files and databases, without any configuration.

/** Names of the containers that are kept for a rollback, after the project's name. Image ids are replaced. */
const holdersOf = async ({ project }: Instance): Promise<string[]> =>
  (await listHolders())
    .filter(({ Labels }) => Labels?.['svc-updater.restore-point']?.startsWith(`${project}/`))
    .map(({ Names }) => Names?.[0]?.replace(`/${project}-`, '').replace(/[0-9a-f]{12}/, 'ID') ?? '')
    .sort();

const start = (publish: string[]) => createInstance({ ...alone, layout: ownData, publish });

test('a healthy release can be rolled back on request, but only once', async () => {
  const instance = await start(['v1.1.0']);
  await instance.write('data/note', 'of v1.0.0\n');
  // Another container may have a name that the updater wants to use.
  const taken = `${instance.project}-rollback-app-look`;
  await execa('docker', ['create', '--name', taken, `${instance.image}:v1.0.0`]);
  const run = await instance.update(['--target', 'v1.1.0', '--restore-point']);
  expect(run.exitCode, run.log).toBe(0);
  expect(await holdersOf(instance)).toEqual([
    ...['rollback-app-hash', 'rollback-app-look-2', 'rollback-app-restore'],
    ...['rollback-image-ID', 'rollback-image-ID'],
  ]);
  await instance.write('data/note', 'of v1.1.0\n');
  await instance.publish('v1.2.0');
  expectWords(await instance.update(['plan', '--target', 'v1.2.0']), {
    exitCode: 0,
    says: [/ the restore point of v1\.0\.0, saved at .* cannot be used after this update/],
    ends: [],
  });
  const dry = await instance.update(['rollback']);
  expectWords(dry, {
    exitCode: 0,
    says: ['rollback from v1.1.0 to v1.0.0 with the data saved at '],
    ends: [],
  });
  expect(await instance.read('data/note')).toBe('of v1.1.0\n');
  const rollback = await instance.update(['rollback', '--yes']);
  expectWords(rollback, {
    exitCode: 0,
    says: ['saved the current data in '],
    ends: [
      /^updated v1\.1\.0 → v1\.0\.0 .* the newer data is kept until the next update with --restore-point$/,
    ],
  });
  expect(await instance.version()).toBe('v1.0.0');
  expect(await instance.read('data/note')).toBe('of v1.0.0\n');
  const again = await instance.update(['rollback', '--yes']);
  expectWords(again, {
    exitCode: 3,
    says: [' is incomplete or was already used by a rollback'],
    ends: [/^refused \(no-restore-point\): /],
  });
});

// docs/contract.md 2.8.
test('a floating tag points to the old version until all data is saved, and again after a rollback', async () => {
  const instance = await createInstance({ ...alone, layout: ownData, tag: 'latest', publish: [] });
  const latest = `${instance.image}:latest`;
  const named = async () => (await listImages(instance.image)).find(({ tags }) => tags.includes(latest))?.id;
  const old = await named();
  await instance.publish('latest', { version: '1.1.0' });
  let meanwhile: string | undefined;
  const run = { args: ['--restore-point'], verb: 'cold' } as const;
  const { exitCode, log } = await during(instance, run, async () => {
    meanwhile = await named();
  });
  expect(exitCode, log).toBe(0);
  expect(meanwhile, log).toBe(old);
  expect(await instance.version()).toBe('v1.1.0');
  expect(await named()).not.toBe(old);
  const back = await instance.update(['rollback', '--yes']);
  expect(back.exitCode, back.log).toBe(0);
  expect([await named(), await instance.version()]).toEqual([old, 'v1.0.0']);
});

test('the data of PostgreSQL is restored after a failed release', () => expectDataBack(postgres));
