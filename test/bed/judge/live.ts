import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { liveRows } from './databases.ts';
import type { Place } from './look.ts';

/** The last number that each start of app and worker has had acknowledged, by its name. */
export type Acknowledged = Readonly<Record<string, number>>;

/** What is there of one start. */
interface Traces {
  rows: number[];
  tally: number;
  lines: number[];
}

/**
 * Whether the data is of one moment. Each start of app and worker writes 1, 2, 3 … into a table, the same number into a second
 * one in the same transaction, then into a file, then to the witness. So for every start all rows and lines are there without
 * a gap, no acknowledged one is missing, at most one more was being written, and the file is never ahead of the table.
 */
export async function judgeLive(place: Place, acknowledged: Acknowledged): Promise<string[]> {
  const traces = await readTraces(place);
  return [...new Set([...Object.keys(acknowledged), ...Object.keys(traces)])].flatMap((boot) =>
    judgeStart(boot, acknowledged[boot], traces[boot]),
  );
}

export function judgeStart(boot: string, last = 0, found?: Traces): string[] {
  const { rows, tally, lines } = found ?? { rows: [], tally: 0, lines: [] };
  if (!/^(app|worker)-v1\.0\.0-/.test(boot)) {
    return found ? [`${boot} has left ${rows.length} rows and ${lines.length} lines`] : [];
  }
  const facts = [];
  if (!isCounted(rows)) facts.push(`rows of ${boot} are not 1 to ${rows.length}`);
  if (!isCounted(lines)) facts.push(`lines of ${boot} are not 1 to ${lines.length}`);
  if (tally !== rows.length) facts.push(`tally of ${boot} is ${tally}, and there are ${rows.length} rows`);
  if (lines.length < last)
    facts.push(`${last} of ${boot} were acknowledged, and ${lines.length} lines are there`);
  if (rows.length < lines.length)
    facts.push(`${boot} has ${rows.length} rows and ${lines.length} lines: not of one moment`);
  if (rows.length > last + 1) facts.push(`${boot} has ${rows.length} rows, and ${last} were acknowledged`);
  return facts;
}

const isCounted = (numbers: readonly number[]) => numbers.every((n, at) => n === at + 1);

async function readTraces(place: Place): Promise<Record<string, Traces>> {
  const traces: Record<string, Traces> = {};
  const of = (boot: string) => {
    traces[boot] ??= { rows: [], tally: 0, lines: [] };
    return traces[boot];
  };
  const { live, tally } = await liveRows(place);
  for (const row of live) of(row.split(' ')[0] ?? '').rows.push(Number(row.split(' ')[1]));
  for (const row of tally) of(row.split(' ')[0] ?? '').tally = Number(row.split(' ')[1]);
  const directory = join(place.trees.uploads ?? '', 'live');
  for (const name of await readdir(directory)) {
    const text = await readFile(join(directory, name), 'utf8');
    of(name.replace(/\.log$/, '')).lines = text
      .split('\n')
      .filter((line) => line !== '')
      .map(Number);
  }
  // Not every database keeps an order.
  for (const { rows } of Object.values(traces)) rows.sort((a, b) => a - b);
  return traces;
}
