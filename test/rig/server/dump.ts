import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Preparation } from '../../../src/instance/contract/options.ts';

/** What a test asks of the next dumps, by the file `dump.json`. */
export interface DumpPlan {
  rows: number;
  millisecondsPerRow: number;
  /** What it throws in the end. */
  fails?: string;
}

/** The platform's `beforeUpdate`: writes `dump-<run>.sql` row by row, and says how far it is. Stops when it is told to. */
export async function makeDump(data: string, { run, from, target, say, signal }: Preparation): Promise<void> {
  const plan = join(data, 'dump.json');
  const given = existsSync(plan) ? (JSON.parse(readFileSync(plan, 'utf8')) as DumpPlan) : null;
  const { rows, millisecondsPerRow, fails } = given ?? { rows: 1, millisecondsPerRow: 0 };
  const file = join(data, `dump-${run}.sql`);
  writeFileSync(file, `-- ${from} before ${target}\n`);
  for (let row = 1; row <= rows; row++) {
    await sleep(millisecondsPerRow, undefined, { signal });
    appendFileSync(file, `INSERT ${row};\n`);
    say(`dumped ${row} of ${rows} rows`);
  }
  if (fails !== undefined) throw new Error(fails);
  appendFileSync(file, '-- whole\n');
}
