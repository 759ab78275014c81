import { describe, expect, it } from 'vitest';
import { judgeStart } from './live.ts';

const boot = 'app-v1.0.0-1a2b3c4d';
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1);
const traces = (rows: number, lines = rows, tally = rows) => ({
  rows: upTo(rows),
  lines: upTo(lines),
  tally,
});

describe('what a start of a writer has left', () => {
  it.each([
    ['all that was acknowledged', 5, traces(5)],
    ['a row and a line that were on their way', 5, traces(6)],
    ['a row that was on its way', 5, traces(6, 5)],
    ['nothing, and nothing was acknowledged', 0, undefined],
  ])('is whole: %s', (_, last, found) => {
    expect(judgeStart(boot, last, found)).toEqual([]);
  });

  it.each([
    ['a row that is missing', 5, traces(4), /5 of .* were acknowledged, and 4 lines/],
    ['everything missing', 5, undefined, /5 of .* were acknowledged, and 0 lines/],
    ['rows of a later moment', 5, traces(7, 6), /has 7 rows, and 5 were acknowledged/],
    ['files of a later moment', 5, traces(5, 6), /not of one moment/],
    ['a gap', 5, { rows: [1, 2, 4, 5, 6], lines: upTo(5), tally: 5 }, /are not 1 to 5/],
    ['a table of another moment', 5, traces(5, 5, 4), /tally of .* is 4/],
  ])('is told where there is %s', (_, last, found, told) => {
    expect(judgeStart(boot, last, found).join('; ')).toMatch(told);
  });

  it('is not to be there of anybody else', () => {
    expect(judgeStart('bad', undefined, traces(2))).toEqual(['bad has left 2 rows and 2 lines']);
    expect(judgeStart('app-v2.0.1-1a2b3c4d', 3, traces(3))).toHaveLength(1);
  });
});
