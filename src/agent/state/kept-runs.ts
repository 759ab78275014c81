import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const keptRuns = 5;

/** A run's name in UTC: `20261121T104207Z`. */
export const runStamp = (at: number): string => new Date(at).toISOString().replace(/[-:]|\.\d+/g, '');

/** Keeps the backups of the last five runs. */
export async function pruneBackups(directory: string): Promise<void> {
  const runs = (await readdir(directory).catch(() => [])).sort();
  for (const run of runs.slice(0, -keptRuns))
    await rm(join(directory, run), { recursive: true, force: true });
}
