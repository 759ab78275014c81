import { describe, expect, it } from 'vitest';
import { allCells, matching, nameOf } from './cells.ts';
import { type CellResult, empty, missingRows, type RowResult, redRows, rowNames } from './results.ts';
import { tablesOf } from './table.ts';

describe('a pattern of cells', () => {
  it.each([
    ['5.4/2.26/29-containerd', ['5.4/2.26/29-containerd']],
    ['5.4/2.26/29', ['5.4/2.26/29-containerd', '5.4/2.26/29-overlay2']],
    ['5/2.26/26.1', []],
    ['5.5/2.26/26', []],
    ['5.5/2.26/26.1/x', []],
    ['2.40/2.26', ['29-containerd', '29-overlay2', '26.1', '20.10'].map((engine) => `2.40/2.26/${engine}`)],
    ['*/5.4/20.10', ['5.5/5.4/20.10', '5.4/5.4/20.10', '2.40/5.4/20.10']],
  ])('%s', (pattern, names) => {
    expect(matching(pattern).map(nameOf)).toEqual(names);
  });

  it('has 66 to choose from', () => {
    expect(matching('*')).toEqual(allCells);
    expect(new Set(allCells.map(nameOf)).size).toBe(66);
  });
});

const good: RowResult = { facts: [], seconds: 9, log: null };
const whole: CellResult = {
  rows: Object.fromEntries(rowNames.map((name) => [name, good])),
  versions: { image: '5.4.0', maker: '2.26.1', engine: '29.8.1' },
  nextUp: ['app', 'worker'],
  day: '2026-11-23',
};

describe('the results of a cell', () => {
  it('are all missing at first, and none in the end', () => {
    expect(missingRows(empty(), '29-containerd')).toEqual(rowNames);
    expect(missingRows(whole, '29-containerd')).toEqual([]);
    expect(redRows(whole)).toEqual([]);
  });
});

describe('the tables', () => {
  const red = { facts: ['app answers nothing\n  at x.ts'], seconds: 9, log: 'x' };
  const { server: _, kill: __, ...rows } = whole.rows;
  const text = tablesOf(
    new Map([
      ['5.4/2.26/29-containerd', whole],
      ['5.5/2.26/29-containerd', { ...whole, rows: { ...rows, kill: red }, nextUp: [], day: '2026-11-24' }],
      ['5.5/2.40/29-containerd', { ...whole, nextUp: null }],
      ['2.40/2.40/29-containerd', empty()],
    ]),
  );

  it('say what was tried, what is red, and what the next up makes anew', () => {
    expect(text).toContain('3 of 66 cells, 23 rows, 1 of them red, tried from 2026-11-23 to 2026-11-24.');
    expect(text).toContain(
      `### Engine 29 with the containerd store (29.8.1)

| made by | updated by 2.40 | updated by 5.4 | updated by 5.5 |
| --- | --- | --- | --- |
| 2.20 | not tried | not tried | not tried |
| 2.26 | not tried | all 8 → app, worker | 6 of 8: **kill**, server not tried → nothing |
| 2.40 | not tried | not tried | all 8 → ? |
`,
    );
    expect(text).toContain('### Red\n\n- `5.5/2.26/29-containerd`, kill: app answers nothing\n');
  });
});
