import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Preparation } from 'svc-updater/instance';

/** What an update begins with: a dump of the whole database, beside the compose file. */
export async function dumpDatabase(
  { databaseUrl, backups }: { databaseUrl: string; backups: string },
  { run, from, say, signal }: Preparation,
): Promise<void> {
  const name = `${from}-${run.slice(0, 8)}.sql`;
  const file = join(backups, name);
  say(`pg_dump to backups/${name}`);
  await promisify(execFile)('pg_dump', ['--file', file, '--dbname', databaseUrl], { signal });
  const { size } = await stat(file);
  say(`pg_dump, ${Math.ceil(size / 1000)} kB in backups/${name}`);
}
