import { hash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { needsRoot } from '../progress/advice.ts';
import { stateName } from '../progress/state-name.ts';
import { UpdateError } from '../progress/update-error.ts';
import { RightsLost } from './attributes.ts';
import { disk, type FileSystem, type Owner, systemCode } from './file-system.ts';

/** One file of a transaction, in plain data (JSON): what a later process needs to put it back. */
export interface FileRecord {
  path: string;
  /** Behind symbolic links: a linked file is written through to what it points at. */
  real: string;
  /** SHA-256, hex; null: it was not there. */
  before: string | null;
  /** SHA-256, hex. */
  after: string;
  /** Absolute path of what holds the old bytes; null: nothing does. */
  backup: string | null;
  /** With its attributes. Null: it was not there. */
  owner: Owner | null;
  /** The temporary file in the same directory, before the rename. */
  temporary: string;
}

/** Beside a file, by the run that is to replace it. */
export const temporaryOf = (real: string, run: string): string =>
  join(dirname(real), `.${basename(real)}${stateName}-${run}`);

export type FileState = 'before' | 'after' | 'other';

export const newFileMode = 0o600;

export const hashOf = (bytes: string | Buffer): string => hash('sha256', bytes);

/** The hash of what a path holds; null where nothing is there, `directory` where one is. */
export async function hashAt(fs: FileSystem, path: string): Promise<string | null> {
  try {
    const bytes = await fs.read(path);
    return bytes && hashOf(bytes);
  } catch (error) {
    // The engine makes a directory where a mounted file is missing.
    if (systemCode(error) === 'EISDIR') return 'directory';
    throw error;
  }
}

/** Calls that give a new file the owner and the mode of the old one. */
const givers: Readonly<Record<string, string>> = { fchown: 'its owner', fchmod: 'its mode' };

/** Not root, without the capability, or an owner that is not mapped into this container. */
const notAllowed = ['EPERM', 'EINVAL'];

/** Refuses a new file that would give access to other users than the old file. @throws UpdateError rights-lost */
export const refuseLost =
  (path: string) =>
  (cause: unknown): never => {
    const isList = cause instanceof RightsLost;
    const why = isList ? cause.message : notGiven(cause);
    if (why === null) throw cause;
    throw new UpdateError('rights-lost', `${path} would lose its permissions: ${why}`, {
      ...(isList ? {} : { advice: needsRoot }),
      cause,
    });
  };

function notGiven(cause: unknown): string | null {
  if (!notAllowed.includes(systemCode(cause) ?? '')) return null;
  const { message, syscall = '' } = cause as NodeJS.ErrnoException;
  const what = givers[syscall];
  return what === undefined ? null : `${what} cannot be set on a new file (${message})`;
}

/** The state of a file: as before the transaction, as after it, or changed by another process. */
export async function stateOf(record: FileRecord, fs: FileSystem = disk): Promise<FileState> {
  const found = await hashAt(fs, record.real);
  if (found === record.before) return 'before';
  return found === record.after ? 'after' : 'other';
}

export const statesOf = (records: readonly FileRecord[]): Promise<{ path: string; state: FileState }[]> =>
  Promise.all(records.map(async (record) => ({ path: record.path, state: await stateOf(record) })));

/** The directories that hold the files, each once. */
export const recordDirectories = (records: readonly FileRecord[]): string[] => [
  ...new Set(records.map(({ real }) => dirname(real))),
];

/** Ignores files that cannot be removed. The removal is permanent when the directories have been synced. */
export async function dropTemporaries(fs: FileSystem, records: readonly FileRecord[]): Promise<void> {
  for (const { temporary } of records) await fs.remove(temporary).catch(() => {});
}

/** Removes temporary files of a killed process, as far as possible. */
export async function removeTemporaries(
  records: readonly FileRecord[],
  fs: FileSystem = disk,
): Promise<void> {
  await dropTemporaries(fs, records);
  for (const directory of recordDirectories(records)) await fs.sync(directory).catch(() => {});
}
