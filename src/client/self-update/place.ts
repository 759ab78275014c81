import { access, constants, lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { disk, isGone, type Owner } from '../../files/file-system.ts';
import { names } from '../names.ts';
import { diskTrouble, failed, refused } from './failure.ts';
import { installerOfFile, installerOfPath } from './package-manager.ts';

/** The file that is to be replaced. */
export interface Place {
  /** As it was named; it may lead through links. */
  given: string;
  /** The file itself. */
  file: string;
  directory: string;
  owner: Owner;
  /** Of the file as it was found: another has another one. */
  identity: string;
  /** Where the new file is written, on the same file system. Each update has a name of its own. */
  temporary: string;
  /** Where the old file stays until it is known that the new one does not make things worse. */
  kept: string;
}

const prefixOf = (): string => `.${names().name}-update-`;

/**
 * Looks at the file, and touches nothing.
 * @throws Failure, refused
 */
export async function findPlace(given: string): Promise<Place> {
  const file = await realpath(given).catch((error) => {
    if (!isGone(error)) throw refused(`${given} cannot be read: ${error.message}`, 'see whose it is: ls -l.');
    throw refused(`${given} is not there.`, 'name the file that is to be replaced by its path.');
  });
  const found = await lstat(file);
  if (!found.isFile()) throw refused(`${file} is no file.`, 'name the program itself.');
  const installer = installerOfPath(file) ?? (await installerOfFile(file));
  if (installer)
    throw refused(
      `${file} was installed by ${installer.name}, which would not know of another version.`,
      installer.command,
    );
  await expectWritable(file, found);
  const name = basename(file);
  const directory = dirname(file);
  // The name stays at the end, as Node goes by what it ends with. It would be too long with a very long name.
  const temporary = `${prefixOf()}${process.pid.toString(36)}-${random()}-${name.slice(-150)}`;
  return {
    given,
    file,
    directory,
    owner: await disk.owner(file),
    identity: identityOf(found),
    temporary: join(directory, temporary),
    kept: `${file}.${names().name}-old`,
  };
}

const random = (): string => Math.random().toString(36).slice(2, 10).padEnd(8, '0');

/** The new file gets the owner and the group of the old one: whoever cannot give them may not replace it. */
async function expectWritable(file: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  const directory = dirname(file);
  const own = process.geteuid?.() ?? uid;
  const groups = [process.getegid?.() ?? gid, ...(process.getgroups?.() ?? [])];
  if (own !== 0 && (own !== uid || !groups.includes(gid)))
    throw refused(
      `${file} belongs to another user (uid ${uid}, gid ${gid}) than you (uid ${own}).`,
      'run it as that user, or as root: sudo.',
    );
  await access(directory, constants.W_OK | constants.X_OK).catch((error) => {
    const [why, next] = diskTrouble(error, directory);
    throw refused(`${file} cannot be replaced: in its directory, ${why}.`, next);
  });
}

/**
 * Removes what updates have left that were killed, and says whether one of them had not yet run its command to the end.
 * Only for whoever holds the lock: the temporary files may be those of an update that runs.
 */
export async function cleanUp({ directory, file, kept }: Place): Promise<{ isUnsettled: boolean }> {
  const [old, now] = [await identityAt(kept), await identityAt(file)];
  // It was killed when it had kept the old file and had not yet replaced it.
  if (old !== null && old === now) await disk.remove(kept);
  const name = basename(file).slice(-150);
  const prefix = prefixOf();
  for (const found of await readdir(directory))
    if (found.startsWith(prefix) && found.endsWith(`-${name}`)) await disk.remove(join(directory, found));
  return { isUnsettled: old !== null && old !== now };
}

/** @throws Failure, failed, where the file is no longer the one that was looked at */
export async function expectUnchanged({ given, file, identity }: Place): Promise<void> {
  const same = (await realpath(given).catch(() => null)) === file && (await identityAt(file)) === identity;
  if (!same)
    throw failed(
      `Nothing was changed: somebody else has replaced ${given} meanwhile.`,
      'see which version it is now (--version), then run it again.',
    );
}

export async function identityAt(path: string): Promise<string | null> {
  return stat(path).then(identityOf, (error) => {
    if (isGone(error)) return null;
    throw error;
  });
}

const identityOf = (found: { dev: number; ino: number; size: number; mtimeMs: number }): string =>
  [found.dev, found.ino, found.size, found.mtimeMs].join(':');
