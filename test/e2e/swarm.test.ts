import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../faults/swarm.ts', import.meta.url));

test('an instance on a Swarm manager is updated, and unrelated Swarm services are not changed', async () => {
  const options = { all: true, reject: false, stdin: 'ignore', timeout: 230_000 } as const;
  const { all, exitCode } = await execa(process.execPath, [main], options);
  expect({ all, exitCode }).toEqual({ all: '', exitCode: 0 });
});
