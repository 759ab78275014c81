import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pruneBackups, runStamp } from '../../../src/agent/state/kept-runs.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kept-runs-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe('runStamp', () => {
  it.each([
    ['2026-11-21T10:42:07.000Z', '20261121T104207Z'],
    ['2026-11-21T10:42:07.999Z', '20261121T104207Z'],
    ['2026-01-02T03:04:05+02:00', '20260102T010405Z'],
  ])('of %s is %s', (at, name) => {
    expect(runStamp(Date.parse(at))).toBe(name);
  });
});

describe('pruneBackups', () => {
  /** Hours of one day, in the order in which they were made. */
  const run = (hour: string): string => `20261121T${hour}0000Z`;
  it.each<[made: string, kept: string]>([
    ['', ''],
    ['01', '01'],
    ['01 02 03 04 05', '01 02 03 04 05'],
    ['01 02 03 04 05 06', '02 03 04 05 06'],
    ['06 01 05 02 04 03 07', '03 04 05 06 07'],
  ])('of %j keeps %j', async (made, kept) => {
    for (const hour of made.split(' ').filter(Boolean)) {
      await mkdir(join(directory, run(hour)));
      await writeFile(join(directory, run(hour), '.env'), 'SVC_VERSION=v1.0.0\n');
    }
    await pruneBackups(directory);
    expect((await readdir(directory)).sort()).toEqual(kept.split(' ').filter(Boolean).map(run));
  });

  it('has nothing to do where nothing was ever kept', async () => {
    await pruneBackups(join(directory, 'backup'));
    expect(await readdir(directory)).toEqual([]);
  });
});
