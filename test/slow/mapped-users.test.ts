import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../faults/mapped-users.ts', import.meta.url));

test('where the engine maps users, --userns=host is asked for, and does it; what every container gets is no drift', async () => {
  const options = { all: true, reject: false, stdin: 'ignore', timeout: 170_000 } as const;
  const { all, exitCode } = await execa(process.execPath, [main], options);
  expect({ all, exitCode }).toEqual({ all: '', exitCode: 0 });
});
