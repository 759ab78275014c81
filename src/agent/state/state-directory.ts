import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { disk, giveToOwnerOfDirectory } from '../../files/file-system.ts';
import { needsRoot } from '../../progress/advice.ts';
import { stateName } from '../../progress/state-name.ts';
import { UpdateError } from '../../progress/update-error.ts';

/** Everything the updater keeps in the compose directory. */
export const stateDirectory = (directory: string): string => join(directory, stateName);

/** Creates it, for the owner of the compose directory alone (mode 0700) and kept out of people's repositories. */
export async function openStateDirectory(directory: string): Promise<string> {
  const state = stateDirectory(directory);
  try {
    await mkdir(state, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    // Checked before owner and mode are set: what somebody else has put there keeps its own.
    if (!(await stat(state)).isDirectory()) {
      throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
    }
    // Owner and mode are set even if the directory exists: a person may have made it, and its backups must be private.
    await giveToOwnerOfDirectory(state);
    await chmod(state, 0o700).catch(async (error) => {
      if (await keepsModes(state)) throw error;
    });
    const ignore = join(state, '.gitignore');
    await writeFile(ignore, '*\n');
    await giveToOwnerOfDirectory(ignore);
    // The directory's own name must survive a power cut, or the journal in it does not.
    await disk.sync(directory);
    return state;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM') {
      throw new UpdateError('read-only', `${directory} cannot be written here (${code})`, {
        ...(code === 'EROFS' ? {} : { advice: needsRoot }),
        cause: error,
      });
    }
    if (code === 'EEXIST' || code === 'ENOTDIR' || code === 'EISDIR') {
      throw new UpdateError(
        'not-a-file',
        `${state} is not the directory that the updater keeps its files in`,
        {
          advice: `Move ${state} away, then run the update again.`,
          cause: error,
        },
      );
    }
    throw new UpdateError('write-failed', `${state} cannot be created: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** FAT and its like show the mode of their mount for everything. */
export async function keepsModes(state: string): Promise<boolean> {
  const probe = join(state, `probe.${process.pid}`);
  try {
    await writeFile(probe, '', { mode: 0o600 });
    return ((await stat(probe)).mode & 0o777) === 0o600;
  } finally {
    await rm(probe, { force: true });
  }
}
