import { basename, dirname, join } from 'node:path';
import type { FileRecord } from './file-record.ts';
import { newFileMode, refuseLost } from './file-record.ts';
import { type FileSystem, writeAside } from './file-system.ts';

/** A path in the directory for each of the files, two of one name kept apart. */
export function backupPaths(directory: string, paths: readonly string[]): string[] {
  const names = new Set<string>();
  for (const path of paths) {
    let name = basename(path);
    for (let n = 1; names.has(name); n++) name = `${n}-${basename(path)}`;
    names.add(name);
  }
  return [...names].map((name) => join(directory, name));
}

/** Has the old texts on the disk, with the rights of the files, so that nobody else reads them: where the disk is full, they can take the
 * files' places again. `texts` are by path. */
export async function keepBackups(
  fs: FileSystem,
  directory: string,
  records: readonly FileRecord[],
  texts: ReadonlyMap<string, string>,
): Promise<void> {
  await fs.makeDirectory(directory, 0o700);
  for (const { path, backup, owner } of records) {
    const text = texts.get(path);
    if (backup === null || text === undefined) continue;
    await writeAside(fs, backup, text, { owner, mode: owner?.mode ?? newFileMode }).catch(refuseLost(path));
  }
  // A file's name is on the disk when its directory is synced, so each directory is, up to one that holds files of the
  // project and was there before.
  for (let at = directory; ; at = dirname(at)) {
    await fs.sync(at);
    if (at === dirname(at) || records.some(({ path }) => path.startsWith(`${at}/`))) break;
  }
}

/** Those of a transaction that changed nothing. What cannot be removed stays. */
export async function removeBackups(
  fs: FileSystem,
  directory: string,
  records: readonly FileRecord[],
): Promise<void> {
  for (const { backup } of records) if (backup !== null) await fs.remove(backup).catch(() => {});
  // The directory goes, too, where it is empty now; else this fails and it stays.
  await fs.remove(directory).catch(() => {});
}
