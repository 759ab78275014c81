import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { expectWords } from './support/attempt.ts';
import type { Instance } from './support/instance.ts';
import {
  createWithData,
  during,
  expectRestored,
  heldImages,
  pointsOf,
  statesOf,
} from './support/own-data.ts';

// docs/contract.md 5.23 to 5.25: a restore ends with the data of the restore point, or reports that it failed.

/** App and worker of this release exit immediately. */
const bad = ['--target', 'v1.1.1', '--restore-point', '--wait-timeout', '8'];
const good = ['--target', 'v1.1.0', '--restore-point'];
const rolledBack =
  /^failed \(rolled-back\): v1\.0\.0 is running again with the data saved at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\. /;

const spoil = (instance: Instance) => instance.write('data/note', 'of v1.1.1\n');

test('a failed restore leaves all services stopped, and the next update only completes the restore', async () => {
  const instance = await createWithData({ publish: ['v1.1.1'] });
  const note = join(instance.directory, 'data', 'note');
  onTestFinished(async () => {
    await execa('chattr', ['-i', note], { reject: false });
  });
  const broken = {
    exitCode: 5,
    says: [],
    ends: [
      /^broken \(data-not-restored\): .*the data of v1\.0\.0 has not been restored yet, so these services remain stopped: .*(?:app|worker|db)/,
    ],
  };
  const failed = await during(instance, { args: bad, verb: 'restore' }, async () => {
    await spoil(instance);
    await execa('chattr', ['+i', note]);
  });
  expectWords(failed, broken);
  const stopped = await statesOf(instance);
  expect(Object.values(stopped), failed.log).not.toContain('running');
  await execa('chattr', ['-i', note]);
  const next = await instance.update(bad);
  expectWords(next, { exitCode: 4, says: [], ends: [rolledBack], never: [/ (?:pull|save|recreate) /] });
  await expectRestored(instance, next.log);
});

test('a damaged restore point is not restored, and all services are started again', async () => {
  const instance = await createWithData({ publish: ['v1.1.1'] });
  // The first two `look` containers, for app and database, belong to the plan.
  const { log, ...result } = await during(instance, { args: bad, verb: 'look', k: 3 }, async () => {
    const [point = ''] = await pointsOf(instance);
    await writeFile(join(point, '1-app', '0', 'note'), 'of v1.0.1\n');
  });
  expectWords(
    { log, ...result },
    {
      exitCode: 5,
      says: [/cannot roll back: the copy of app:\/data in .* has changed since it was created/],
      ends: [
        /^broken \(broken\): the new version is unhealthy; it was not rolled back, because the copy of app:\/data /,
      ],
      never: [/migrations may have run/, /rollback --yes/],
    },
  );
  expect((await statesOf(instance)).db, log).toBe('running');
  expect((await instance.boots()).filter((line) => line === 'app v1.1.1').length, log).toBeGreaterThan(1);
});

test('a rollback is refused if the restore point or the project has changed', async () => {
  const instance = await createWithData();
  const { exitCode, log } = await instance.update(good);
  expect(exitCode, log).toBe(0);
  const [point = ''] = await pointsOf(instance);
  const record = join(point, 'point.json');
  /** Replaces a text in a file, and returns a function that undoes the change. */
  const replacing = (path: string, from: string, to: string) => async () => {
    const text = await readFile(path, 'utf8');
    expect(text).toContain(from);
    await writeFile(path, text.replace(from, to));
    return () => writeFile(path, text);
  };
  const copy = join(point, '1-app', '0', 'note');
  const which =
    /the newest restore point contains the data of v1\.0\.0, which was saved at .* before the update to v1\.1\.0/;
  const changes: [ends: RegExp, change: () => Promise<() => Promise<unknown>>, says: RegExp[]][] = [
    [
      /^refused \(restore-point-damaged\): /,
      replacing(record, '"version": "v1.0.0"', '"version": "v1.0.1"'),
      [],
    ],
    [
      /^refused \(modified-since\): /,
      replacing(join(instance.directory, 'compose.yaml'), 'timeout: 3s', 'timeout: 4s'),
      [which],
    ],
  ];
  for (const [ends, change, says] of changes) {
    const undo = await change();
    expectWords(await instance.update(['rollback']), { exitCode: 3, says, ends: [ends] });
    await undo();
  }
  const mend = await replacing(record, '"version": "v1.0.0"', '"version": "v1.0.1"')();
  expectWords(await instance.update(['restore-point', 'rm']), {
    exitCode: 3,
    says: [`the restore point in ${point} could not be removed: `],
    ends: [new RegExp(`^refused \\(restore-point-damaged\\): nothing was changed\\..* rm -r ${point}\\.$`)],
  });
  expect(await pointsOf(instance)).toEqual([point]);
  await mend();
  await replacing(copy, 'v1.0.0', 'v1.0.1')();
  const damaged = {
    exitCode: 3,
    says: ['the copy of app:/data in '],
    ends: [/^refused \(restore-point-damaged\): nothing was changed; v1\.1\.0 is still running/],
  };
  expectWords(await instance.update(['rollback', '--yes']), damaged);
});

test('a restore point is removed after docker compose down', async () => {
  const instance = await createWithData();
  const { exitCode, log } = await instance.update(good);
  expect(exitCode, log).toBe(0);
  await instance.compose('down');
  expectWords(await instance.update(['restore-point', 'rm']), {
    exitCode: 0,
    says: [],
    ends: ['removed: 1 restore point'],
  });
  expect([await pointsOf(instance), await heldImages(instance)]).toEqual([[], []]);
});
