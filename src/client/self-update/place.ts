import { access, constants, link, lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { disk, isGone, type Owner, systemCode, writeWhole } from '../../files/file-system.ts';
import { names } from '../names.ts';
import { broken, diskTrouble, refused, unchanged, unchangedBy } from './failure.ts';
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

/** What the temporary files of a file begin and end with: Node goes by the end. A very long name would be too long. */
const formOf = (file: string): [prefix: string, suffix: string] => [
  `.${names().name}-update-`,
  `-${basename(file).slice(-150)}`,
];

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
  const directory = dirname(file);
  const [prefix, suffix] = formOf(file);
  const random = Math.random().toString(36).slice(2, 10).padEnd(8, '0');
  return {
    given,
    file,
    directory,
    owner: await disk.owner(file),
    identity: identityOf(found),
    temporary: join(directory, `${prefix}${process.pid.toString(36)}-${random}${suffix}`),
    kept: `${file}.${names().name}-old`,
  };
}

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
  const [prefix, suffix] = formOf(file);
  for (const found of await readdir(directory))
    if (found.startsWith(prefix) && found.endsWith(suffix)) await disk.remove(join(directory, found));
  return { isUnsettled: old !== null && old !== now };
}

/**
 * Gives the old file a second name. One that an earlier update has left stays: it is the last that was known to work.
 * @throws Failure, failed
 */
export async function keepOld(place: Place): Promise<void> {
  const { file, directory, kept, owner, temporary } = place;
  await expectUnchanged(place);
  try {
    await link(file, kept).catch(async (error) => {
      if (!knowsNoLinks.includes(systemCode(error) ?? '')) throw error;
      const copy = { owner, mode: owner.mode, temporary: `${temporary}.old` };
      await writeWhole(disk, kept, (await disk.read(file)) ?? '', copy);
    });
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return;
    unchangedBy(`${file} could not be kept`, directory)(error);
  }
  // It has to be there after a loss of power that finds the new file in place.
  await syncDirectory(place);
}

/** A file system on which a file has one name. */
const knowsNoLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/**
 * Puts the new file into the old one's place by one rename: at every moment one of them is there, whole.
 * @throws Failure, failed
 */
export async function putInPlace(place: Place): Promise<void> {
  const { temporary, file, directory, identity, kept } = place;
  try {
    await expectUnchanged(place);
    await disk.rename(temporary, file).catch(unchangedBy(`${file} could not be replaced`, directory));
  } catch (error) {
    // The second name of a file that is still in its place.
    if ((await identityAt(kept)) === identity) await dropOld(place);
    throw error;
  }
  await syncDirectory(place);
}

async function expectUnchanged({ given, file, identity }: Place): Promise<void> {
  if ((await realpath(given).catch(() => null)) === file && (await identityAt(file)) === identity) return;
  throw unchanged(
    `somebody else has replaced ${given} meanwhile.`,
    'see which version it is now (--version), then run it again.',
  );
}

/**
 * Puts the old file back.
 * @throws Failure, broken
 */
export async function putBack(place: Place): Promise<void> {
  const { file, kept } = place;
  await disk.rename(kept, file).catch((error) => {
    const [why] = diskTrouble(error, place.directory);
    throw broken(
      `The old file could not be put back into its place, ${file}: ${why}.`,
      `see what is at ${file}; the old one is ${kept}: mv ${kept} ${file}`,
    );
  });
  await syncDirectory(place);
}

/** The new one has proven itself. */
export async function dropOld(place: Place): Promise<void> {
  await disk.remove(place.kept);
  await syncDirectory(place);
}

/** What a loss of power leaves is the old file or the new one, also where the directory cannot be synced. */
const syncDirectory = ({ directory }: Place): Promise<void> => disk.sync(directory).catch(() => {});

async function identityAt(path: string): Promise<string | null> {
  return stat(path).then(identityOf, (error) => {
    if (isGone(error)) return null;
    throw error;
  });
}

const identityOf = (found: { dev: number; ino: number; size: number; mtimeMs: number }): string =>
  [found.dev, found.ino, found.size, found.mtimeMs].join(':');
