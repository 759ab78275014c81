import { hash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { runAsRootAdvice } from '../../errors/advice.ts';
import { UpdateError } from '../../errors/update-error.ts';
import { stateDirectoryName } from '../../names/state-directory-name.ts';
import { PermissionsLostError } from '../attributes.ts';
import { diskFileSystem, type FilePermissions, type FileSystem, systemErrorCodeOf } from '../file-system.ts';

/** A file in a transaction. Saved as JSON, from which any process can restore the file. */
export interface FileRecord {
  path: string;
  /** Path without symbolic links, so that the target of a link is replaced, not the link itself. */
  real: string;
  /** SHA-256 of the old content in hex; null if the file did not exist. */
  before: string | null;
  /** SHA-256 of the new content in hex. */
  after: string;
  /** Absolute path of the backup with the old content; null if there is no backup. */
  backup: string | null;
  /** Owner, mode and attributes of the old file; null if the file did not exist. */
  owner: FilePermissions | null;
  /** Path of the temporary file, which is in the same directory and is renamed to `real`. */
  temporary: string;
}

export const temporaryPathOf = (real: string, run: string): string =>
  join(dirname(real), `.${basename(real)}${stateDirectoryName}-${run}`);

export type FileState = 'before' | 'after' | 'other';

export const newFileMode = 0o600;

export const hashOf = (bytes: string | Buffer): string => hash('sha256', bytes);

/** Returns the SHA-256 of a file in hex, or `directory` for a directory. Returns null if the path does not exist. */
export async function readFileHash(fs: FileSystem, path: string): Promise<string | null> {
  try {
    const bytes = await fs.read(path);
    return bytes && hashOf(bytes);
  } catch (error) {
    // The path may be a directory, because the engine creates one if a mounted file is missing.
    if (systemErrorCodeOf(error) === 'EISDIR') return 'directory';
    throw error;
  }
}

/** System calls that set the owner and mode of a new file, each with the words that messages use for it. */
const permissionSetters: Readonly<Record<string, string>> = { fchown: 'its owner', fchmod: 'its mode' };

/**
 * Error codes of `fchown` and `fchmod` if the process lacks the privilege, or if the owner is not mapped into the
 * container.
 */
const notAllowed = ['EPERM', 'EINVAL'];

/**
 * Returns a handler for errors that occur while permissions are set. Such errors are fatal, because other users might
 * otherwise get access to the file.
 * @throws UpdateError rights-lost
 */
export const createPermissionErrorHandler =
  (path: string) =>
  (cause: unknown): never => {
    const isList = cause instanceof PermissionsLostError;
    const why = isList ? cause.message : describePermissionError(cause);
    if (why === null) throw cause;
    throw new UpdateError('rights-lost', `${path} would lose its permissions: ${why}`, {
      ...(isList ? {} : { advice: runAsRootAdvice }),
      cause,
    });
  };

function describePermissionError(cause: unknown): string | null {
  if (!notAllowed.includes(systemErrorCodeOf(cause) ?? '')) return null;
  const { message, syscall = '' } = cause as NodeJS.ErrnoException;
  const what = permissionSetters[syscall];
  return what === undefined ? null : `${what} cannot be set on a new file (${message})`;
}

/** Returns `before` if the file is unchanged, `after` if it was replaced, and `other` if another process changed it. */
export async function readFileState(record: FileRecord, fs: FileSystem = diskFileSystem): Promise<FileState> {
  const found = await readFileHash(fs, record.real);
  if (found === record.before) return 'before';
  return found === record.after ? 'after' : 'other';
}

export const readFileStates = (
  records: readonly FileRecord[],
): Promise<{ path: string; state: FileState }[]> =>
  Promise.all(records.map(async (record) => ({ path: record.path, state: await readFileState(record) })));

export const listRecordDirectories = (records: readonly FileRecord[]): string[] => [
  ...new Set(records.map(({ real }) => dirname(real))),
];

/** Ignores errors. The removal is permanent only after the directories have been synced. */
export async function removeTemporaryFilesNoSync(
  fs: FileSystem,
  records: readonly FileRecord[],
): Promise<void> {
  for (const { temporary } of records) await fs.remove(temporary).catch(() => {});
}

/** Removes temporary files and syncs their directories. Ignores errors. */
export async function removeTemporaryFiles(
  records: readonly FileRecord[],
  fs: FileSystem = diskFileSystem,
): Promise<void> {
  await removeTemporaryFilesNoSync(fs, records);
  for (const directory of listRecordDirectories(records)) await fs.sync(directory).catch(() => {});
}
