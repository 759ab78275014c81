import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../faults/new-socket.ts', import.meta.url));

test('an update reports the correct outcome if the engine restarts on a new socket, and the next run completes it', async () => {
  const options = { all: true, reject: false, stdin: 'ignore', timeout: 170_000 } as const;
  const { all, exitCode } = await execa(process.execPath, [main], options);
  expect({ all, exitCode }).toEqual({ all: '', exitCode: 0 });
});
