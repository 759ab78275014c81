import { basename, dirname, join } from 'node:path';
import { UpdateError } from '../../errors/update-error.ts';
import {
  diskFileSystem,
  type FileSystem,
  isMissingFileError,
  systemErrorCodeOf,
  writeTemporaryFile,
} from '../file-system.ts';
import type { TextFile } from '../text-file.ts';
import {
  createPermissionErrorHandler,
  type FileRecord,
  hashOf,
  listRecordDirectories,
  newFileMode,
  readFileHash,
  removeTemporaryFiles,
  temporaryPathOf,
} from './file-record.ts';
import { restoreFiles } from './restore-files.ts';

export {
  type FileRecord,
  type FileState,
  readFileState,
  removeTemporaryFiles,
  temporaryPathOf,
} from './file-record.ts';
export { restoreFiles } from './restore-files.ts';

export interface FileReplacement {
  path: string;
  /** Text that the file must have before the replacement; null if the file must not exist. */
  before: string | null;
  after: string;
}

interface TransactionOptions {
  /**
   * Run ID, which is part of the names of temporary files. Temporary files that earlier attempts of the run left behind
   * are removed.
   */
  runId: string;
  /** Absolute path of the directory for backups; null if no backups are made. */
  backupDirectory: string | null;
  /**
   * Files from which the replacements were planned. All of them must be unchanged, even those that are not replaced.
   */
  planned?: readonly TextFile[];
  /** Writes the journal. Called when all backups are on the disk, before any other file is written. */
  prepared?: (records: readonly FileRecord[]) => Promise<void>;
  /** Prints a warning about lost attributes that do not control access. Called before any file is replaced. */
  warn?: (sentence: string) => void;
  fs?: FileSystem;
}

/**
 * Replaces files in one transaction and syncs them to the disk. If an error occurs, restores the old files.
 * @throws UpdateError file-changed, rights-lost, write-failed, files-not-restored; errors of `prepared`
 */
export async function replaceFiles(
  replacements: readonly FileReplacement[],
  options: TransactionOptions,
): Promise<readonly FileRecord[]> {
  const { backupDirectory: backup, planned = [], prepared, warn = () => {}, fs = diskFileSystem } = options;
  const texts = new Map<string, string>();
  for (const { path, before } of replacements) if (before !== null) texts.set(path, before);
  let undo: () => Promise<unknown> = async () => {};
  try {
    const records = await describe(replacements, options, fs);
    for (const { path, text } of planned) await expectHash(fs, { path, real: path }, hashOf(text));
    for (const record of records) await expectHash(fs, record, record.before);
    undo = async () => {
      await removeTemporaryFiles(records, fs);
      if (backup !== null) await removeBackups(fs, backup, records);
    };
    if (backup !== null && records.length > 0)
      await writeBackups(fs, backup, records, texts).catch(createWriteErrorHandler('backed up'));
    await prepared?.(records);
    for (const { temporary } of records) await fs.remove(temporary);
    // Write all new files first, so that a full disk or lost permissions are detected before anything changes.
    for (const [index, { path, temporary, owner }] of records.entries()) {
      const mode = owner?.mode ?? newFileMode;
      const text = replacements[index]?.after ?? '';
      const lost = await fs.write(temporary, text, owner, mode).catch(createPermissionErrorHandler(path));
      if (lost.length > 0)
        warn(`${path} will lose these attributes, which cannot be set in this container: ${lost.join(', ')}`);
      await fs.sync(temporary);
    }
    for (const record of records) {
      await expectHash(fs, record, record.before);
      undo = () => restoreFiles(records, { fs, texts });
      await fs.rename(record.temporary, record.real);
    }
    for (const directory of listRecordDirectories(records)) await fs.sync(directory);
    return records;
  } catch (error) {
    await undo().catch((cause: UpdateError) => {
      throw new UpdateError(cause.code, cause.message, { cause, detail: [(error as Error).message] });
    });
    return createWriteErrorHandler('written')(error);
  }
}

async function describe(
  replacements: readonly FileReplacement[],
  { runId: run, backupDirectory: backup }: TransactionOptions,
  fs: FileSystem,
): Promise<FileRecord[]> {
  const old = replacements.filter(({ before }) => before !== null).map(({ path }) => path);
  const backups = new Map(backup === null ? [] : backupPaths(backup, old).map((kept, n) => [old[n], kept]));
  return Promise.all(
    replacements.map(async ({ path, before, after }) => {
      const real = before === null ? path : await realPath(fs, path);
      return {
        path,
        real,
        before: before === null ? null : hashOf(before),
        after: hashOf(after),
        backup: backups.get(path) ?? null,
        owner:
          before === null ? null : await fs.readPermissions(real).catch(createPermissionErrorHandler(path)),
        temporary: temporaryPathOf(real, run),
      };
    }),
  );
}

/** Returns the backup path of each file. Files with the same name get different paths. */
function backupPaths(directory: string, paths: readonly string[]): string[] {
  const names = new Set<string>();
  for (const path of paths) {
    let name = basename(path);
    for (let n = 1; names.has(name); n++) name = `${n}-${basename(path)}`;
    names.add(name);
  }
  return [...names].map((name) => join(directory, name));
}

/**
 * Backs up the old texts. A backup has the permissions of its file, so that other users cannot read it, and so that it
 * can become the file itself.
 * @param texts - old texts, keyed by path
 */
async function writeBackups(
  fs: FileSystem,
  directory: string,
  records: readonly FileRecord[],
  texts: ReadonlyMap<string, string>,
): Promise<void> {
  await fs.makeDirectory(directory, 0o700);
  for (const { path, backup, owner } of records) {
    const text = texts.get(path);
    if (backup === null || text === undefined) continue;
    await writeTemporaryFile(fs, backup, text, { owner, mode: owner?.mode ?? newFileMode }).catch(
      createPermissionErrorHandler(path),
    );
  }
  // A new name is on the disk only after its directory is synced. Parent directories may also be new, so they are
  // synced too.
  for (let at = directory; ; at = dirname(at)) {
    await fs.sync(at);
    if (at === dirname(at) || records.some(({ path }) => path.startsWith(`${at}/`))) break;
  }
}

/** Removes the backups of a transaction that changed nothing. A backup that cannot be removed is ignored. */
async function removeBackups(
  fs: FileSystem,
  directory: string,
  records: readonly FileRecord[],
): Promise<void> {
  for (const { backup } of records) if (backup !== null) await fs.remove(backup).catch(() => {});
  // The call fails if the directory contains other files, which are therefore kept.
  await fs.remove(directory).catch(() => {});
}

async function realPath(fs: FileSystem, path: string): Promise<string> {
  return fs.realpath(path).catch((cause) => {
    if (!isMissingFileError(cause)) throw cause;
    throw new UpdateError('file-changed', `${path} no longer exists`, { cause });
  });
}

async function expectHash(
  fs: FileSystem,
  { path, real }: Pick<FileRecord, 'path' | 'real'>,
  hash: string | null,
): Promise<void> {
  if ((await readFileHash(fs, real)) === hash) return;
  throw new UpdateError('file-changed', `${path} was changed by another user or process during the update`);
}

/** Returns a handler that converts system errors to an UpdateError and rethrows all other errors. */
const createWriteErrorHandler =
  (done: string) =>
  (cause: unknown): never => {
    if (systemErrorCodeOf(cause) === undefined) throw cause;
    throw new UpdateError('write-failed', `the files could not be ${done}: ${(cause as Error).message}`, {
      cause,
    });
  };
