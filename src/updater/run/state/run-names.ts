import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

const keptRuns = 5;

/** The name is the start time in UTC: `20261121T104207Z`. */
export const formatRunName = (at: number): string => new Date(at).toISOString().replace(/[-:]|\.\d+/g, '');

export const runNamePattern = /^\d{8}T\d{6}Z$/;

/**
 * Retains five backups: the backup of the run `own`, which may not be the latest if the clock was set back, and the
 * latest others. Directories that do not have the name of a run belong to users and are kept.
 */
export async function pruneBackups(directory: string, own: string): Promise<void> {
  const names: string[] = await readdir(directory).catch(() => []);
  const others = names.filter((name) => runNamePattern.test(name) && name !== own).sort();
  const room = names.includes(own) ? keptRuns - 1 : keptRuns;
  for (const run of others.slice(0, -room)) await rm(join(directory, run), { recursive: true, force: true });
}
