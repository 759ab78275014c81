import { UpdateError } from '../../errors/update-error.ts';
import { hasSameExtendedAttributes } from '../attributes.ts';
import {
  diskFileSystem,
  type FilePermissions,
  type FileSystem,
  isMissingFileError,
  writeTemporaryFile,
} from '../file-system.ts';
import {
  type FileRecord,
  hashOf,
  listRecordDirectories,
  readFileState,
  removeTemporaryFilesNoSync,
} from './file-record.ts';

type Texts = ReadonlyMap<string, string>;

/**
 * Restores files that are unchanged since the transaction, and returns the paths of the other files. An interrupted
 * call can be repeated by any process.
 * @throws UpdateError files-not-restored after all other files have been restored
 */
export async function restoreFiles(
  records: readonly FileRecord[],
  { fs = diskFileSystem, texts = new Map() }: { fs?: FileSystem; texts?: Texts } = {},
): Promise<string[]> {
  // Temporary files are removed first to free space on a full disk.
  await removeTemporaryFilesNoSync(fs, records);
  const changed: string[] = [];
  const errors: Error[] = [];
  for (const record of records) {
    try {
      if (!(await restore(fs, record, texts))) changed.push(record.path);
    } catch (error) {
      errors.push(error as Error);
    }
  }
  await removeTemporaryFilesNoSync(fs, records);
  // An interrupted call may have restored files without syncing their directories, so all directories are synced.
  for (const directory of listRecordDirectories(records)) {
    await fs.sync(directory).catch((error) => {
      if (!isMissingFileError(error)) errors.push(error);
    });
  }
  const [cause] = errors;
  if (cause === undefined) return changed;
  throw new UpdateError('files-not-restored', `the files could not be restored: ${cause.message}`, { cause });
}

/** Returns false if the file was changed after the transaction and is therefore not restored. */
async function restore(fs: FileSystem, record: FileRecord, texts: Texts): Promise<boolean> {
  const state = await readFileState(record, fs);
  if (state !== 'after') return state === 'before';
  if (record.before === null) {
    await fs.remove(record.real);
    return true;
  }
  const source = await prepareOldFile(fs, record, texts);
  if ((await readFileState(record, fs)) !== 'after') return false;
  await source.take();
  return true;
}

/** Prepares the old file, so that `take` only has to rename it. */
async function prepareOldFile(
  fs: FileSystem,
  record: FileRecord,
  texts: Texts,
): Promise<{ take(): Promise<void> }> {
  const { path, real, backup, temporary } = record;
  const kept = backup === null ? null : await fs.read(backup);
  const intact = kept !== null && hashOf(kept) === record.before;
  // If the backup is missing or damaged, use the text from `texts`.
  const bytes = intact ? kept : texts.get(path);
  if (bytes === undefined || hashOf(bytes) !== record.before) {
    throw new Error(`the backup of ${path} is missing or damaged`);
  }
  // The restored file gets the permissions of its replacement.
  const owner = await fs.readPermissions(real);
  try {
    await writeTemporaryFile(fs, temporary, bytes, { owner, mode: owner.mode });
    return { take: () => fs.rename(temporary, real) };
  } catch (error) {
    if (!intact || backup === null || !hasSamePermissions(await fs.readPermissions(backup), owner))
      throw error;
    // A full disk has no space for a copy, so the backup itself is renamed. If the rename fails, throw the original
    // error, which is more helpful.
    const take = () =>
      fs.rename(backup, real).catch(() => {
        throw error;
      });
    return { take };
  }
}

const hasSamePermissions = (one: FilePermissions, other: FilePermissions): boolean =>
  one.uid === other.uid &&
  one.gid === other.gid &&
  one.mode === other.mode &&
  hasSameExtendedAttributes(one.attributes ?? {}, other.attributes ?? {});
