import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../faults/mapped-users.ts', import.meta.url));

test('an engine that maps users requires --userns=host, and the default options of the engine are not drift', async () => {
  const options = { all: true, reject: false, stdin: 'ignore', timeout: 170_000 } as const;
  const { all, exitCode } = await execa(process.execPath, [main], options);
  expect({ all, exitCode }).toEqual({ all: '', exitCode: 0 });
});
