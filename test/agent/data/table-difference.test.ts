import { expect, it } from 'vitest';
import { tableDifference } from '../../../src/agent/data/table-difference.ts';

it('is told by table, the largest first, and what was won makes up for nothing that was lost', () => {
  const then = { a: [3, '1'], b: [5, '2'], c: [1, '3'], d: [9, '4'], same: [9, null] } as const;
  const now = { a: [10, '9'], b: [5, '4'], new: [2, '5'], d: [1, '4'], same: [9, null] } as const;
  expect(tableDifference(then, now)).toEqual({
    rows: 18,
    things: 5,
    words: [
      'd: 8 rows fewer',
      'a: 7 rows more',
      'new: a new table with 2 rows',
      'c: the table with 1 row is gone',
      'b: as many rows, and not the same',
    ],
  });
});

it('is none where nothing differs', () => {
  expect(tableDifference({}, {})).toEqual({ rows: 0, things: 0, words: [] });
});
