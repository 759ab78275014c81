import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { SmallDisk } from '../faults/full-disk.ts';
import { expectAttempt } from './support/attempt.ts';
import { alone, createInstance } from './support/instance.ts';
import { ownData } from './support/own-data.ts';

const main = fileURLToPath(new URL('../faults/shared-disk.ts', import.meta.url));

// docs/contract.md 5.22.
test('a release that fills the disk of engine, data and journal is rolled back', async () => {
  const options = { all: true, reject: false, stdin: 'ignore', timeout: 230_000 } as const;
  const { all, exitCode } = await execa(process.execPath, [main, 'bytes', 'inodes'], options);
  expect({ all, exitCode }).toEqual({ all: '', exitCode: 0 });
});

// docs/contract.md 5.20.
test('plan is refused if there are too few inodes for the restore point', async () => {
  const instance = await createInstance({ ...alone, layout: ownData });
  const disk = await SmallDisk.mount(`${inject('host').directory}/few-inodes`, 1_000_000_000);
  onTestFinished(() => disk.unmount());
  const args = ['plan', '--target', 'v1.1.0', '--restore-point', '--restore-dir', '/points'];
  const options = { volumes: [`${disk.directory}:/points`] };
  for (const [files, says] of [
    [900, / needs 10\d\d free inodes, but only [89]\d\d are free/],
    [0, /ENOSPC/],
  ] as const) {
    await disk.leave({ files });
    await expectAttempt(
      instance,
      args,
      { exitCode: 3, says: [says], ends: [/^refused \(no-space\): /] },
      options,
    );
  }
});
