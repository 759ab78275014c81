import { UpdateError } from '../progress/update-error.ts';
import { sameAttributes } from './attributes.ts';
import { dropTemporaries, type FileRecord, hashOf, recordDirectories, stateOf } from './file-record.ts';
import { disk, type FileSystem, isGone, type Owner, writeAside } from './file-system.ts';

type Texts = ReadonlyMap<string, string>;

/**
 * Puts back every file that is as the transaction left it; those that are as before stay. Gives the paths of those that
 * somebody changed since and that were left alone. May be interrupted and called again, in this or in a later process:
 * when it resolves, the old files are on the disk, each with the owner, mode and lists of the file whose place it takes,
 * whatever its record and its backup say. `texts` (old texts by path) serve where a backup is gone or damaged.
 * @throws UpdateError files-not-restored, when all that can be put back has been
 */
export async function restoreFiles(
  records: readonly FileRecord[],
  { fs = disk, texts = new Map() }: { fs?: FileSystem; texts?: Texts } = {},
): Promise<string[]> {
  // The temporaries go first: that makes room on a full disk.
  await dropTemporaries(fs, records);
  const changed: string[] = [];
  const errors: Error[] = [];
  for (const record of records) {
    try {
      if (!(await restore(fs, record, texts))) changed.push(record.path);
    } catch (error) {
      errors.push(error as Error);
    }
  }
  await dropTemporaries(fs, records);
  // Directories of files that are as before are synced, too: an interrupted call may have put those back in memory alone.
  for (const directory of recordDirectories(records)) {
    await fs.sync(directory).catch((error) => {
      if (!isGone(error)) errors.push(error);
    });
  }
  const [cause] = errors;
  if (cause === undefined) return changed;
  throw new UpdateError('files-not-restored', `the files could not be restored: ${cause.message}`, { cause });
}

/** False if the file was changed after the transaction. */
async function restore(fs: FileSystem, record: FileRecord, texts: Texts): Promise<boolean> {
  const state = await stateOf(record, fs);
  if (state !== 'after') return state === 'before';
  if (record.before === null) {
    await fs.remove(record.real);
    return true;
  }
  const source = await oldFile(fs, record, texts);
  if ((await stateOf(record, fs)) !== 'after') return false;
  await source.take();
  return true;
}

/** Has the old file ready to take the name again. */
async function oldFile(fs: FileSystem, record: FileRecord, texts: Texts): Promise<{ take(): Promise<void> }> {
  const { path, real, backup, temporary } = record;
  const kept = backup === null ? null : await fs.read(backup);
  const intact = kept !== null && hashOf(kept) === record.before;
  const bytes = intact ? kept : texts.get(path);
  if (bytes === undefined || hashOf(bytes) !== record.before) {
    throw new Error(`the backup of ${path} is missing or damaged`);
  }
  const owner = await fs.rights(real);
  try {
    await writeAside(fs, temporary, bytes, { owner, mode: owner.mode });
    return { take: () => fs.rename(temporary, real) };
  } catch (error) {
    if (!intact || backup === null || !isAs(await fs.rights(backup), owner)) throw error;
    // A full disk has no room for a copy; a backup that has the file's rights needs none. Elsewhere, on another
    // file system, it cannot take the name: the first error says more then.
    const take = () =>
      fs.rename(backup, real).catch(() => {
        throw error;
      });
    return { take };
  }
}

/** Whether both give access to the same users. */
const isAs = (one: Owner, other: Owner): boolean =>
  one.uid === other.uid &&
  one.gid === other.gid &&
  one.mode === other.mode &&
  sameAttributes(one.attributes ?? {}, other.attributes ?? {});
