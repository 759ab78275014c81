import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../faults/shared-disk.ts', import.meta.url));

// docs/contract.md 5.22; scripts/campaign bed --shared-disk also kills the updater at each step.
test('a rollback succeeds on a full disk, also without helper containers, or waits until there is space', async () => {
  const tries = [
    'bytes, pruned',
    'inodes, pruned',
    'bytes, of an earlier release',
    'bytes, without a reserve',
  ];
  const options = { all: true, reject: false, stdin: 'ignore', timeout: 500_000 } as const;
  const { all, exitCode } = await execa(process.execPath, [main, ...tries], options);
  expect({ all, exitCode }).toEqual({ all: '', exitCode: 0 });
});
