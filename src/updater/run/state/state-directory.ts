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
import { isOnSmb, keepsNoModes } from '../../../core/files/attributes.ts';
import { disk, giveToOwnerOfDirectory, isGone, systemCode } from '../../../core/files/file-system.ts';
import { needsRoot, shellWord } from '../../../core/progress/advice.ts';
import { stateName } from '../../../core/progress/state-name.ts';
import { UpdateError } from '../../../core/progress/update-error.ts';
import { runForm } from './kept-runs.ts';

/** Everything the updater keeps in the compose directory. */
export const stateDirectory = (directory: string): string => join(directory, stateName);

/** The copy of the last run's log. */
export const logName = 'last-run.log';

/** Old texts of files, by run. */
export const backupsOf = (directory: string): string => join(stateDirectory(directory), 'backup');

/** Where restore points are, unless somebody wants them elsewhere. */
export const pointsOf = (directory: string): string => join(stateDirectory(directory), 'restore');

/**
 * Creates it, for the owner of the compose directory alone (mode 0700) and kept out of people's repositories. Once it
 * resolves, nothing in it is a link or somebody else's, and nobody else can put anything there: what is in it may be
 * read and written by its path. Only whoever may write in the compose directory itself could exchange it afterwards,
 * and may write the compose files as well.
 * Refusals: rights-lost, unexpected-file, not-a-file, read-only.
 */
export async function openStateDirectory(directory: string): Promise<string> {
  const state = stateDirectory(directory);
  try {
    await refuseWithoutModes(directory);
    await mkdir(state, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    // Checked before owner and mode are set: what somebody else has put there keeps its own.
    await refuseForeignEntry(directory);
    if (!(await lstat(state)).isDirectory()) {
      throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
    }
    // Owner and mode are set even if the directory exists: a person may have made it, and its backups must be private.
    await giveToOwnerOfDirectory(state);
    await chmod(state, 0o700).catch(async (error) => {
      if (!(await isOnSmb(state))) throw error;
    });
    // Until now it may have been open to others.
    await refuseForeignState(directory);
    const ignore = join(state, '.gitignore');
    if ((await readFile(ignore, 'utf8').catch(() => null)) !== ignoreAll) {
      // Another updater may be doing the same.
      const unless = (code: string) => (error: unknown) => {
        if (systemCode(error) !== code) throw error;
      };
      await unlink(ignore).catch(unless('ENOENT'));
      await writeFile(ignore, ignoreAll, { flag: 'wx' }).catch(unless('EEXIST'));
      await giveToOwnerOfDirectory(ignore).catch(unless('ENOENT'));
    }
    // The directory's own name must survive a power cut, or the journal in it does not.
    await disk.sync(directory);
    return state;
  } catch (error) {
    if (error instanceof UpdateError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
      throw new UpdateError('read-only', `cannot write to ${directory} (${code})`, {
        ...(code === 'EROFS' ? {} : { advice: needsRoot }),
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

const ignoreAll = '*\n';

/**
 * Only modes protect the backups and the journal. SMB has those of the server (docs/contract.md 5.1).
 * @throws UpdateError rights-lost
 */
export async function refuseWithoutModes(directory: string): Promise<void> {
  if (!(await keepsNoModes(directory))) return;
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
 * Whether the state directory, or something in it, is a link or belongs to somebody who is trusted with nothing here: who
 * owns the compose directory may write the compose files, and so is root in all but name. What is not there is nobody's.
 * @throws UpdateError unexpected-file
 */
export async function refuseForeignEntry(directory: string, ...entry: readonly string[]): Promise<void> {
  const path = join(stateDirectory(directory), ...entry);
  const found = await lstat(path).catch((error) => {
    if (!isGone(error)) throw error;
    return null;
  });
  if (found === null) return;
  refuseLink(path, found);
  const { uid } = await stat(directory);
  if (found.uid === 0 || found.uid === uid || found.uid === (await madeIn(directory)).uid) return;
  throw new UpdateError(
    'unexpected-file',
    `${path} is owned by user ${found.uid} instead of root or the owner of ${directory} (user ${uid})`,
    {
      advice: `If the updater created this path, make root its owner (chown -R 0:0 ${shellWord(path)}). Otherwise, find out who created the path and move it elsewhere. Then run {command} again.`,
    },
  );
}

/** Of a file system that takes root for somebody else, as NFS does, or has modes of its mount, as SMB: what is made there from here. */
async function madeIn(directory: string): Promise<Stats> {
  const probe = await mkdtemp(join(directory, `${stateName}-seen-`));
  try {
    return await lstat(probe);
  } finally {
    await rmdir(probe);
  }
}

/**
 * What a restore point says is carried out with root's power over the machine: in volumes, in databases, by what is unpacked,
 * set-user-id bits and devices too. So it is one only where nobody but root can have written it; the owner of the compose
 * directory, who may write the journal, is not enough. Gives whose it is, as its file system tells; null where it is gone.
 * @param found what is known of it by an open file, which no other process can replace @throws UpdateError unexpected-file
 */
export async function refuseUnlessRoots(path: string, found?: Stats): Promise<number | null> {
  const is =
    found ??
    (await lstat(path).catch((error) => {
      if (!isGone(error)) throw error;
      return null;
    }));
  if (is === null) return null;
  refuseLink(path, is);
  const isLike = (made: { uid: number; mode: number }) =>
    (is.uid === 0 || is.uid === made.uid) && (is.mode & 0o022 & ~made.mode) === 0;
  if (isLike({ uid: 0, mode: 0 })) return is.uid;
  const made = await madeIn(dirname(path)).catch(() => null);
  if (made !== null && isLike(made)) return is.uid;
  const message =
    is.uid === 0
      ? `${path} is not accepted as a restore point, because it is writable by users other than root`
      : `${path} is not accepted as a restore point, because it is owned by user ${is.uid} instead of root`;
  throw new UpdateError('unexpected-file', message, {
    advice: `If the updater created this path, make root its owner and only writer (chown -R 0:0 ${shellWord(path)}; chmod -R go-w ${shellWord(path)}). Otherwise, find out who created it and move it elsewhere. Then run the command again.`,
  });
}

function refuseLink(path: string, found: Awaited<ReturnType<typeof lstat>>): void {
  if (!found.isSymbolicLink()) return;
  throw new UpdateError('unexpected-file', `${path} is a symbolic link, which the updater does not follow`, {
    advice: `Find out who created the link and remove it (rm ${shellWord(path)}), then run {command} again.`,
  });
}

/** The same of the state directory and all that the updater keeps there. @throws UpdateError unexpected-file */
export async function refuseForeignState(directory: string): Promise<void> {
  const state = stateDirectory(directory);
  const backups = backupsOf(directory);
  await refuseForeignEntry(directory);
  for (const name of await namesIn(state)) await refuseForeignEntry(directory, name);
  // A folder of another name is somebody's.
  for (const run of (await namesIn(backups)).filter((name) => runForm.test(name))) {
    await refuseForeignEntry(directory, 'backup', run);
    // Backups belong to whom their files do.
    for (const name of await namesIn(join(backups, run))) {
      const path = join(backups, run, name);
      refuseLink(path, await lstat(path));
    }
  }
  const points = pointsOf(directory);
  await refuseUnlessRoots(points);
  for (const run of (await namesIn(points)).filter((name) => runForm.test(name))) {
    await refuseUnlessRoots(join(points, run));
    for (const name of await namesIn(join(points, run))) await refuseUnlessRoots(join(points, run, name));
  }
}

const namesIn = (path: string): Promise<string[]> =>
  readdir(path).catch((error) => {
    if (!isGone(error)) throw error;
    return [];
  });
