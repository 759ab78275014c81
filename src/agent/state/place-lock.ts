import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { giveToOwnerOfDirectory, systemCode } from '../../files/file-system.ts';

export type Link = typeof link;

/** FAT, exFAT and some shares have no hard links. */
const noLinks = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'EXDEV'];

/**
 * Puts a lock in its place, whole and exclusively; false where one is there. `mine` is a file with the same text beside
 * it, which is linked, so that nobody ever reads a lock without its owner in it. Where there are no hard links the lock
 * is created and then written, and `readWhole` waits for that.
 */
export async function placeLock(
  lock: string,
  mine: string,
  text: string,
  door: Link = link,
): Promise<boolean> {
  try {
    await door(mine, lock);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    if (!noLinks.includes(systemCode(error) ?? '')) throw error;
  }
  try {
    await writeFile(lock, text, { mode: 0o600, flag: 'wx' });
    await giveToOwnerOfDirectory(lock);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    // A full disk leaves an empty lock, which would keep others waiting.
    const begun = await readFile(lock, 'utf8').catch(() => null);
    if (begun !== null && text.startsWith(begun)) await rm(lock, { force: true });
    throw error;
  }
  // Whoever was held up for a second between creating and writing has been taken for dead, and another has the lock.
  return (await readFile(lock, 'utf8').catch(() => null)) === text;
}

/** A lock's text, once it is whole or a second has passed; null where there is none. */
export async function readWhole(lock: string): Promise<string | null> {
  for (let tries = 0; ; tries++) {
    const text = await readFile(lock, 'utf8').catch(() => null);
    if (text === null || text.endsWith('\n') || tries === 10) return text;
    await sleep(100);
  }
}
