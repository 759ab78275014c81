import { hash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { runAsRootAdvice } from '../../errors/advice.ts';
import { UpdateError } from '../../errors/update-error.ts';
import { stateDirectoryName } from '../../names/state-directory-name.ts';
import { RightsLost } from '../attributes.ts';
import { diskFileSystem, type FileSystem, type Owner, systemCode } from '../file-system.ts';

/** Plain data (JSON) about a file in a transaction. Any process can use it to restore the file. */
export interface FileRecord {
  path: string;
  /** Path with symbolic links resolved, so that the target of a link is replaced, and not the link. */
  real: string;
  /** SHA-256 of the old content in hex; null if the file did not exist. */
  before: string | null;
  /** SHA-256 of the new content in hex. */
  after: string;
  /** Absolute path of the backup with the old content; null if there is no backup. */
  backup: string | null;
  /** Owner, mode and attributes of the old file; null if the file did not exist. */
  owner: Owner | null;
  /** Path of the temporary file in the same directory, which is later renamed to the file. */
  temporary: string;
}

/** Returns the path of the temporary file that a run creates in the same directory to replace a file. */
export const temporaryOf = (real: string, run: string): string =>
  join(dirname(real), `.${basename(real)}${stateDirectoryName}-${run}`);

export type FileState = 'before' | 'after' | 'other';

export const newFileMode = 0o600;

export const hashOf = (bytes: string | Buffer): string => hash('sha256', bytes);

/** Returns the hash of a file; `directory` for a directory; null if nothing exists at the path. */
export async function readHash(fs: FileSystem, path: string): Promise<string | null> {
  try {
    const bytes = await fs.read(path);
    return bytes && hashOf(bytes);
  } catch (error) {
    // The path may be a directory, because the engine creates one if a mounted file is missing.
    if (systemCode(error) === 'EISDIR') return 'directory';
    throw error;
  }
}

/** System calls that give a new file the owner and the mode of the old file, with the words for messages. */
const givers: Readonly<Record<string, string>> = { fchown: 'its owner', fchmod: 'its mode' };

/**
 * Error codes of these calls if the process is not root, lacks a capability, or runs in a container into which the
 * owner is not mapped.
 */
const notAllowed = ['EPERM', 'EINVAL'];

/**
 * Returns a handler for errors from setting permissions. Such errors are fatal, because the new file must not give
 * access to users who had no access to the old file. @throws UpdateError rights-lost
 */
export const requireSameAccess =
  (path: string) =>
  (cause: unknown): never => {
    const isList = cause instanceof RightsLost;
    const why = isList ? cause.message : notGiven(cause);
    if (why === null) throw cause;
    throw new UpdateError('rights-lost', `${path} would lose its permissions: ${why}`, {
      ...(isList ? {} : { advice: runAsRootAdvice }),
      cause,
    });
  };

function notGiven(cause: unknown): string | null {
  if (!notAllowed.includes(systemCode(cause) ?? '')) return null;
  const { message, syscall = '' } = cause as NodeJS.ErrnoException;
  const what = givers[syscall];
  return what === undefined ? null : `${what} cannot be set on a new file (${message})`;
}

/** Checks whether a file is unchanged, was replaced by the transaction, or was changed by another process. */
export async function readFileState(record: FileRecord, fs: FileSystem = diskFileSystem): Promise<FileState> {
  const found = await readHash(fs, record.real);
  if (found === record.before) return 'before';
  return found === record.after ? 'after' : 'other';
}

export const readFileStates = (
  records: readonly FileRecord[],
): Promise<{ path: string; state: FileState }[]> =>
  Promise.all(records.map(async (record) => ({ path: record.path, state: await readFileState(record) })));

/** Returns the directories that contain the files, each once. */
export const listRecordDirectories = (records: readonly FileRecord[]): string[] => [
  ...new Set(records.map(({ real }) => dirname(real))),
];

/**
 * Removes temporary files, except those that cannot be removed. The removal is only permanent when the directories have
 * been synced.
 */
export async function unlinkTemporaryFiles(fs: FileSystem, records: readonly FileRecord[]): Promise<void> {
  for (const { temporary } of records) await fs.remove(temporary).catch(() => {});
}

/** Removes the temporary files of a killed process, if possible. */
export async function removeTemporaryFiles(
  records: readonly FileRecord[],
  fs: FileSystem = diskFileSystem,
): Promise<void> {
  await unlinkTemporaryFiles(fs, records);
  for (const directory of listRecordDirectories(records)) await fs.sync(directory).catch(() => {});
}
