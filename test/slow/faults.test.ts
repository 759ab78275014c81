import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { faults as answers } from '../faults/answer-faults.ts';
import type { Fault } from '../faults/fault.ts';
import { faults as kills } from '../faults/kill-faults.ts';
import { faults as people } from '../faults/people-faults.ts';
import { runFaults } from '../faults/run-faults.ts';

// The short run of scripts/campaign faults: always the same tries, spread over kinds of install, phases and moments. What the
// other end-to-end tests hold already is left to them and to the long run.

const seed = 3;

describe.concurrent('what is broken on purpose is never half an update', { timeout: 600_000 }, () => {
  test.for<[name: string, faults: readonly Fault[], tries: number, lanes: number]>([
    ['25 kills', kills, 25, 3],
    ['answers of the engine', answers, 3, 2],
    ['people', people, 4, 2],
  ])('%s', async ([, faults, tries, lanes]) => {
    const lines: string[] = [];
    const rows = await runFaults(faults, inject('host'), {
      seed,
      short: true,
      notes: true,
      lanes,
      directory: join(tmpdir(), 'svc-updater-faults'),
      say: (line) => lines.push(line),
    });
    expect(
      rows.filter(({ lost }) => lost > 0).map(({ name }) => name),
      lines.join('\n'),
    ).toEqual([]);
    expect(rows.reduce((sum, row) => sum + row.tries, 0)).toBe(tries);
  });
});
