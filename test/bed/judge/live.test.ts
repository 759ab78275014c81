import { expect, it } from 'vitest';
import { judgeStart } from './live.ts';

const boot = 'app-v1.0.0-1a2b3c4d';
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1);
const traces = (rows: number, lines = rows) => ({ rows: upTo(rows), lines: upTo(lines), tally: rows });

// Its databases and files are broken on purpose by `scripts/bed --unguarded` and test/e2e/bed-judge.test.ts.
it('what a start of a writer has left is whole, or not of one moment', () => {
  expect(judgeStart(boot, 5, traces(5))).toEqual([]);
  expect(judgeStart(boot, 5, traces(6, 5))).toEqual([]);
  expect(judgeStart(boot, 5, traces(4))).toEqual([`5 of ${boot} were acknowledged, and 4 lines are there`]);
  expect(judgeStart(boot, 5, traces(5, 6))).toEqual([expect.stringMatching(/not of one moment$/)]);
  expect(judgeStart('bad', undefined, traces(2))).toEqual(['bad has left 2 rows and 2 lines']);
});
