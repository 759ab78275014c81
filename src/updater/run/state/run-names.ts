import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const keptRuns = 5;

/** The name is the start time in UTC: `20261121T104207Z`. */
export const formatRunName = (at: number): string => new Date(at).toISOString().replace(/[-:]|\.\d+/g, '');

export const runNamePattern = /^\d{8}T\d{6}Z$/;

/**
 * Keeps five backups: the backup of the run `own`, and the latest others. Also keeps directories that are not named
 * like a run, because they belong to users.
 */
export async function pruneBackups(directory: string, own: string): Promise<void> {
  const names: string[] = await readdir(directory).catch(() => []);
  // If the clock was set back, `own` may not be the latest name.
  const others = names.filter((name) => runNamePattern.test(name) && name !== own).sort();
  const room = names.includes(own) ? keptRuns - 1 : keptRuns;
  for (const run of others.slice(0, -room)) await rm(join(directory, run), { recursive: true, force: true });
}
