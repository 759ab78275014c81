import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { expectWords } from './support/attempt.ts';
import {
  createWithData,
  during,
  expectAsBefore,
  expectSavedAndUpdated,
  type HeldRun,
  statesOf,
} from './support/own-data.ts';

// docs/contract.md 5.20 to 5.22: whatever happens while data is saved, the old version never runs on new data, and all
// services that were running are running afterwards.

const good = ['--target', 'v1.1.0', '--restore-point'];

describe('while the data is copied', () => {
  test('docker compose up starts the old version, and the updater stops it and repeats the copy', async () => {
    const instance = await createWithData();
    const result = await during(instance, { args: good, verb: 'cold' }, () =>
      instance.compose('up', '-d', 'app', 'worker'),
    );
    expectWords(result, {
      exitCode: 0,
      says: [/was started while the data was being copied; stopping it and copying again/],
      ends: [/^updated v1\.0\.0 → v1\.1\.0 /],
    });
    await expectSavedAndUpdated(instance, result.log);
  });

  test('the updater is killed, and the next run starts all services and updates them', async () => {
    const instance = await createWithData();
    const { exitCode } = await during(instance, { args: good, verb: 'cold' }, (run) => run.kill());
    expect(exitCode).toBe(137);
    expect(await statesOf(instance)).toEqual({ app: 'exited', worker: 'exited', db: 'exited' });
    const result = await instance.update(good);
    expectWords(result, {
      exitCode: 0,
      says: ['was interrupted during the save phase'],
      ends: [/^updated /],
    });
    await expectSavedAndUpdated(instance, result.log);
  });

  test('twice --max-downtime is exceeded, and the updater stops the copy and starts all services again', async () => {
    const instance = await createWithData();
    const huge = join(instance.directory, 'data', 'huge');
    const args = [...good, '--max-downtime', '3'];
    const result = await during(instance, { args, verb: 'cold' }, () =>
      execa('truncate', ['--size', '8T', huge]),
    );
    expectWords(result, {
      exitCode: 4,
      says: [/the second copy of the data took longer than 6 s, twice the time that --max-downtime allows/],
      ends: [/^failed \(save-failed\): /],
    });
    await expectAsBefore(instance, result.log);
    await execa('rm', [huge]);
  });

  test('the disk of the restore point fills up, all services run again, and no restore point is left', async () => {
    const instance = await createWithData();
    const points = join(instance.directory, 'points');
    await execa('mkdir', [points]);
    await execa('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', points]);
    try {
      const held = {
        args: [...good, '--restore-dir', points],
        options: { volumes: [`${points}:${points}`] },
        verb: 'cold',
      } satisfies HeldRun;
      const result = await during(instance, held, () =>
        writeFile(join(instance.directory, 'data', 'large'), Buffer.alloc(20_000_000, 'x')),
      );
      expectWords(result, { exitCode: 4, says: [/full|free/], ends: [/^failed \(save-failed\): /] });
      await expectAsBefore(instance, result.log);
      expect(await readdir(points)).toEqual([]);
    } finally {
      await execa('umount', ['--lazy', points]);
    }
  });
});
