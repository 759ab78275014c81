import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const keptRuns = 5;

/** A run's name in UTC: `20261121T104207Z`. */
export const runStamp = (at: number): string => new Date(at).toISOString().replace(/[-:]|\.\d+/g, '');

export const runForm = /^\d{8}T\d{6}Z$/;

/**
 * Keeps the backups of five runs: that of `own`, whatever a clock that was set back makes of its name, and the last ones
 * beside it. A folder of another name is somebody's.
 */
export async function pruneBackups(directory: string, own: string): Promise<void> {
  const names: string[] = await readdir(directory).catch(() => []);
  const others = names.filter((name) => runForm.test(name) && name !== own).sort();
  const room = names.includes(own) ? keptRuns - 1 : keptRuns;
  for (const run of others.slice(0, -room)) await rm(join(directory, run), { recursive: true, force: true });
}
