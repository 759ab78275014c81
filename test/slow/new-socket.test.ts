import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../faults/new-socket.ts', import.meta.url));

test('an engine that comes back on a new socket while containers are replaced: a true word, and the next run finishes', async () => {
  const options = { all: true, reject: false, stdin: 'ignore', timeout: 170_000 } as const;
  const { all, exitCode } = await execa(process.execPath, [main], options);
  expect({ all, exitCode }).toEqual({ all: '', exitCode: 0 });
});
