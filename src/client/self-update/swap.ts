import { link } from 'node:fs/promises';
import { disk, systemCode, writeWhole } from '../../files/file-system.ts';
import { broken, diskTrouble, failed } from './failure.ts';
import { expectUnchanged, type Place } from './place.ts';

/**
 * Puts the new file into the old one's place by one rename: at every moment one of them is there, whole.
 * @throws Failure, failed
 */
export async function putInPlace(place: Place): Promise<void> {
  await expectUnchanged(place);
  await disk.rename(place.temporary, place.file).catch(asFailed(place, 'replaced'));
  await syncDirectory(place);
}

/**
 * Gives the old file a second name. One that an earlier update has left stays: it is the last that was known to work.
 * @throws Failure, failed
 */
export async function keepOld(place: Place): Promise<void> {
  const { file, kept } = place;
  await expectUnchanged(place);
  try {
    await link(file, kept);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return;
    if (!noLinks.includes(systemCode(error) ?? '')) return asFailed(place, 'kept')(error);
    await copyOld(place).catch(asFailed(place, 'kept'));
  }
  // It has to be there after a loss of power that finds the new file in place.
  await syncDirectory(place);
}

/** Of file systems that know no second names. */
const noLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

async function copyOld({ file, kept, owner, temporary }: Place): Promise<void> {
  const bytes = (await disk.read(file)) ?? '';
  await writeWhole(disk, kept, bytes, { owner, mode: owner.mode, temporary: `${temporary}.old` });
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

const asFailed =
  ({ file, directory }: Place, done: string) =>
  (error: unknown): never => {
    const [why, next] = diskTrouble(error, directory);
    throw failed(`Nothing was changed: ${file} could not be ${done}: ${why}.`, next);
  };
