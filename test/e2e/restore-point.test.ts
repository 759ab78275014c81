import { expect, test } from 'vitest';
import { composeText } from '../rig/compose-text.ts';
import { expectWords } from './support/attempt.ts';
import { alone, createInstance } from './support/instance.ts';

// docs/contract.md 5.20 to 5.26, for data in files.

const start = (publish: string[]) =>
  createInstance({
    ...alone,
    layout: (c) => ({
      files: {
        'compose.yaml': composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts }).replace(
          ", './data/dump:/dump'",
          '',
        ),
        '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      },
      flags: [],
    }),
    publish,
  });

test('after a bad release the old one runs on its data of before', async () => {
  const instance = await start(['v1.1.2']);
  await instance.write('data/note', 'of v1.0.0\n');
  const run = await instance.update(['--target', 'v1.1.2', '--restore-point', '--wait-timeout', '5']);
  expectWords(run, {
    exitCode: 4,
    says: ['restore point: ', 'v1.1.2 did not come up: going back to v1.0.0 with its data of'],
    ends: [
      /^failed \(went-back\): v1\.0\.0 runs again with its data of \d\d:\d\d:\d\d; what v1\.1\.2 did in /,
    ],
  });
  expect(await instance.version()).toBe('v1.0.0');
  expect(await instance.boots()).not.toContain('app v1.1.2');
});

test('a good release is gone back from, and that is undone', async () => {
  const instance = await start(['v1.1.0']);
  await instance.write('data/note', 'of v1.0.0\n');
  const run = await instance.update(['--target', 'v1.1.0', '--restore-point']);
  expect(run.exitCode).toBe(0);
  await instance.write('data/note', 'of v1.1.0\n');
  const dry = await instance.update(['back']);
  expect(dry.exitCode).toBe(0);
  const back = await instance.update(['back', '--yes']);
  expect(back.exitCode).toBe(0);
  expect(await instance.version()).toBe('v1.0.0');
  expect(await instance.read('data/note')).toBe('of v1.0.0\n');
  const again = await instance.update(['back', '--yes']);
  expect(again.exitCode).toBe(0);
  expect(await instance.version()).toBe('v1.1.0');
  expect(await instance.read('data/note')).toBe('of v1.1.0\n');
});
