import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { formatRunName, pruneBackups } from '../../../../src/updater/run/state/run-names.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let directory = '';
beforeEach(async () => {
  directory = await temporaryDirectory();
});

const stamp = (day: number): string => formatRunName(Date.UTC(2026, 10, day));
const days = (...list: number[]): string[] => list.map(stamp);

it.each<[why: string, there: string[], own: string, kept: string[]]>([
  ['its own, of a clock that was set back', days(1, 2, 3, 4, 5, 6, 7), stamp(1), days(1, 4, 5, 6, 7)],
  ['five others where it has none itself', days(1, 2, 3, 4, 5, 6), stamp(7), days(2, 3, 4, 5, 6)],
  [
    "what is no run's, which counts for none",
    ['2025', 'mine', 'zz', ...days(1, 2, 3, 4, 5)],
    stamp(5),
    ['2025', ...days(1, 2, 3, 4, 5), 'mine', 'zz'],
  ],
])('pruneBackups keeps %s', async (_, there, own, kept) => {
  for (const name of there) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, '.env'), 'A=b\n');
  }
  await pruneBackups(directory, own);
  expect((await readdir(directory)).sort()).toEqual(kept);
});

it('names a run after the second in which it starts', () => {
  expect(formatRunName(Date.parse('2026-11-21T10:42:07.999Z'))).toBe('20261121T104207Z');
});
