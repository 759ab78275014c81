import { counted } from '../log/wording.ts';
import type { Difference } from './kind.ts';

/** Rows, and what stands for their contents; null where the server tells nothing. */
export type Tally = readonly [rows: number, sum: string | null];

type Tallies = Readonly<Record<string, Tally>>;

/**
 * How tables differ, by their names for people. Rows count by how many there are more or fewer in each table: what one has
 * won makes up for nothing that another has lost.
 */
export function tableDifference(then: Tallies, now: Tallies): Difference {
  const found = [...new Set([...Object.keys(then), ...Object.keys(now)])].flatMap((name) => {
    const [was, is] = [then[name], now[name]];
    if (was?.[0] === is?.[0] && was?.[1] === is?.[1]) return [];
    const more = (is?.[0] ?? 0) - (was?.[0] ?? 0);
    return [{ rows: Math.abs(more), words: `${name}: ${sayChange(was, is, more)}` }];
  });
  const sorted = found.toSorted((a, b) => b.rows - a.rows || (a.words < b.words ? -1 : 1));
  return {
    rows: found.reduce((sum, { rows }) => sum + rows, 0),
    things: found.length,
    words: sorted.map(({ words }) => words),
  };
}

function sayChange(was: Tally | undefined, is: Tally | undefined, more: number): string {
  const rows = counted(Math.abs(more), 'row');
  if (was === undefined) return `a new table with ${rows}`;
  if (is === undefined) return `the table with ${rows} is gone`;
  if (more === 0) return 'as many rows, and not the same';
  return `${rows} ${more > 0 ? 'more' : 'fewer'}`;
}
