import type { Stats } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { quoteForShell, runAsRootAdvice } from '../../../core/errors/advice.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { hasNoFileModes, isOnSmb } from '../../../core/files/attributes.ts';
import {
  chownLikeParentDirectory,
  diskFileSystem,
  systemErrorCodeOf,
  tolerateMissingFile,
} from '../../../core/files/file-system.ts';
import { stateDirectoryName } from '../../../core/names/state-directory-name.ts';
import { runNamePattern } from './run-names.ts';

/** The state directory contains all files of the updater in the compose directory. */
export const stateDirectoryOf = (directory: string): string => join(directory, stateDirectoryName);

/** Copy of the last run's log. */
export const logFileName = 'last-run.log';

/** Copy of the last rehearsal's log. */
export const rehearsalLogFileName = 'last-rehearsal.log';

/** Contains one subdirectory per run. */
export const backupDirectoryOf = (directory: string): string => join(stateDirectoryOf(directory), 'backup');

/** Default directory of restore points. */
export const restorePointsDirectoryOf = (directory: string): string =>
  join(stateDirectoryOf(directory), 'restore');

/**
 * Creates the private state directory. Its contents may then be accessed by path: it contains no links or files of
 * other users, and other users cannot add any. Only users who can write the compose files could replace the directory.
 * @throws UpdateError rights-lost, unexpected-file, not-a-file, read-only, write-failed
 */
export async function openStateDirectory(directory: string): Promise<string> {
  const state = stateDirectoryOf(directory);
  try {
    await requireFileModeSupport(directory);
    await mkdir(state, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    // Checked before owner and mode are changed, so that an entry of another user remains unchanged.
    await requireTrustedEntry(directory);
    if (!(await lstat(state)).isDirectory()) {
      throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
    }
    // A person may have created the directory, but its backups must be private.
    await chownLikeParentDirectory(state);
    await chmod(state, 0o700).catch(async (error) => {
      if (!(await isOnSmb(state))) throw error;
    });
    // Other users may have created entries in the directory before its mode was set.
    await requireTrustedStateDirectory(directory);
    const ignore = join(state, '.gitignore');
    if ((await readFile(ignore, 'utf8').catch(() => null)) !== gitignoreText) {
      // Another updater may be writing the `.gitignore` at the same time.
      const unless = (code: string) => (error: unknown) => {
        if (systemErrorCodeOf(error) !== code) throw error;
      };
      await unlink(ignore).catch(unless('ENOENT'));
      await writeFile(ignore, gitignoreText, { flag: 'wx' }).catch(unless('EEXIST'));
      await chownLikeParentDirectory(ignore).catch(unless('ENOENT'));
    }
    // After a power failure, the directory's entry must still exist. Otherwise, the journal is lost.
    await diskFileSystem.sync(directory);
    return state;
  } catch (error) {
    if (error instanceof UpdateError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
      throw new UpdateError('read-only', `cannot write to ${directory} (${code})`, {
        ...(code === 'EROFS' ? {} : { advice: runAsRootAdvice }),
        cause: error,
      });
    }
    if (code === 'EEXIST' || code === 'ENOTDIR' || code === 'EISDIR') {
      throw new UpdateError(
        'not-a-file',
        `${state} is not a directory, but the updater needs a directory at that path`,
        {
          advice: `Move ${state} elsewhere, then run {command} again.`,
          cause: error,
        },
      );
    }
    throw new UpdateError('write-failed', `${state} cannot be created: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

const gitignoreText = '*\n';

/**
 * Rejects a file system without file modes, because only modes protect the backups and the journal. Accepts an SMB
 * share, although its server determines the modes (docs/contract.md 5.1).
 * @throws UpdateError rights-lost
 */
export async function requireFileModeSupport(directory: string): Promise<void> {
  if (!(await hasNoFileModes(directory))) return;
  throw new UpdateError(
    'rights-lost',
    `${directory} is on a file system that does not store owners and modes, such as FAT or exFAT`,
    {
      advice:
        'Move the instance to a directory on another file system, such as ext4, then run {command} again.',
    },
  );
}

/**
 * Rejects the state directory, or an entry in it, if the path is a link or has an untrusted owner. Accepts a missing
 * entry. The owner of the compose directory is trusted, because write access to compose files is equivalent to root.
 * @throws UpdateError unexpected-file
 */
export async function requireTrustedEntry(directory: string, ...entry: readonly string[]): Promise<void> {
  const path = join(stateDirectoryOf(directory), ...entry);
  const found = await lstat(path).catch(tolerateMissingFile);
  if (found === null) return;
  requireNoLink(path, found);
  const { uid } = await stat(directory);
  if (found.uid === 0 || found.uid === uid || found.uid === (await statNewEntry(directory)).uid) return;
  throw new UpdateError(
    'unexpected-file',
    `${path} is owned by user ${found.uid} instead of root or the owner of ${directory} (user ${uid})`,
    {
      advice: `If the updater created this path, make root its owner (chown -R 0:0 ${quoteForShell(path)}). Otherwise, find out who created the path and move it elsewhere. Then run {command} again.`,
    },
  );
}

/**
 * Returns the owner and mode of new entries in a directory, as stats of a temporary directory. Owner and mode depend on
 * the file system: NFS may map root to another user, and SMB uses the mount's modes.
 */
async function statNewEntry(directory: string): Promise<Stats> {
  const probe = await mkdtemp(join(directory, `${stateDirectoryName}-seen-`));
  try {
    return await lstat(probe);
  } finally {
    await rmdir(probe);
  }
}

/**
 * Requires that only root can write a restore point, not even the owner of the compose directory. A rollback restores
 * the contents as root, with set-user-id bits and devices. Returns the owner that the file system reports; null if the
 * path does not exist.
 * @param found - stats of an open file, which no other process can replace
 * @throws UpdateError unexpected-file
 */
export async function requireRootOwnedPath(path: string, found?: Stats): Promise<number | null> {
  const is = found ?? (await lstat(path).catch(tolerateMissingFile));
  if (is === null) return null;
  requireNoLink(path, is);
  const isLike = (made: { uid: number; mode: number }) =>
    (is.uid === 0 || is.uid === made.uid) && (is.mode & 0o022 & ~made.mode) === 0;
  if (isLike({ uid: 0, mode: 0 })) return is.uid;
  const made = await statNewEntry(dirname(path)).catch(() => null);
  if (made !== null && isLike(made)) return is.uid;
  const message =
    is.uid === 0
      ? `${path} is not accepted as a restore point, because it is writable by users other than root`
      : `${path} is not accepted as a restore point, because it is owned by user ${is.uid} instead of root`;
  throw new UpdateError('unexpected-file', message, {
    advice: `If the updater created this path, make root its owner and only writer (chown -R 0:0 ${quoteForShell(path)}; chmod -R go-w ${quoteForShell(path)}). Otherwise, find out who created it and move it elsewhere. Then run the command again.`,
  });
}

function requireNoLink(path: string, found: Awaited<ReturnType<typeof lstat>>): void {
  if (!found.isSymbolicLink()) return;
  throw new UpdateError('unexpected-file', `${path} is a symbolic link, which the updater does not follow`, {
    advice: `Find out who created the link and remove it (rm ${quoteForShell(path)}), then run {command} again.`,
  });
}

/**
 * Rejects entries of other users in the state directory, its backups and its restore points.
 * @throws UpdateError unexpected-file
 */
export async function requireTrustedStateDirectory(directory: string): Promise<void> {
  const state = stateDirectoryOf(directory);
  const backups = backupDirectoryOf(directory);
  await requireTrustedEntry(directory);
  for (const name of await namesIn(state)) await requireTrustedEntry(directory, name);
  // A directory without the name of a run belongs to a user and is not checked.
  for (const run of (await namesIn(backups)).filter((name) => runNamePattern.test(name))) {
    await requireTrustedEntry(directory, 'backup', run);
    // A backup has the owner of its original file, so its owner is not checked.
    for (const name of await namesIn(join(backups, run))) {
      const path = join(backups, run, name);
      requireNoLink(path, await lstat(path));
    }
  }
  const points = restorePointsDirectoryOf(directory);
  await requireRootOwnedPath(points);
  for (const run of (await namesIn(points)).filter((name) => runNamePattern.test(name))) {
    await requireRootOwnedPath(join(points, run));
    for (const name of await namesIn(join(points, run))) await requireRootOwnedPath(join(points, run, name));
  }
}

const namesIn = async (path: string): Promise<string[]> =>
  (await readdir(path).catch(tolerateMissingFile)) ?? [];
