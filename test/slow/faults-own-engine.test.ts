import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';

// A few tries of the faults that need an engine of their own; `scripts/campaign faults engine power disk` makes all of them.

const main = fileURLToPath(new URL('../faults/main.ts', import.meta.url));

test.for([
  ['engine', 1, 5],
  ['power', 1, 5],
  ['disk', 3, 2],
] as const)('faults on an engine of its own: %s', { timeout: 610_000 }, async ([group, tries, seed]) => {
  const { all, exitCode } = await execa(process.execPath, [main, group, '--short', '--seed', `${seed}`], {
    all: true,
    reject: false,
    stdin: 'ignore',
    timeout: 600_000,
  });
  expect(all).toContain(`\n${tries} tries, 0 lost`);
  expect(exitCode, all).toBe(0);
});
