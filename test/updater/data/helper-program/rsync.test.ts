import { expect, it } from 'vitest';
import { runProgram } from '../../../../src/updater/data/helper-program/rsync.ts';

// Prints more bytes than a string can hold.
const endless = 'head -c 600000000 /dev/zero';

it('truncates endless lines of both stdout and stderr', async () => {
  const lines: number[] = [];
  const script = `{ ${endless}; echo; echo last; } >&2; ${endless}; printf '\\rlast'; exit 3`;
  const ended = await runProgram('sh', ['-c', script], { onLine: (line) => lines.push(line.length) });
  expect(ended.code).toBe(3);
  expect(ended.errors.map((line) => line.length)).toEqual([1_000, 4]);
  expect(lines).toEqual([1024 ** 2, 4]);
});
