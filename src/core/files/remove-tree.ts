import {
  closeSync,
  constants,
  lstatSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';
import { nameBytesOf, openDirectory } from './walk.ts';

const pauseAfter = 1_000;

/** Removes a directory tree of any depth and size with limited memory and few open files. */
export async function removeTree(top: string, path: Buffer): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  // Subdirectories are moved to this directory and emptied there, so that paths stay short.
  const folder = mkdtempSync(`${top}/.removed-`);
  const fd = openSync(folder, flags);
  const inFolder = (name: number | 'current') => `/proc/self/fd/${fd}/${name}`;
  renameSync(path, inFolder(0));
  let seen = 0;
  for (let waiting = 1; waiting > 0; ) {
    renameSync(inFolder(--waiting), inFolder('current'));
    const current = openSync(inFolder('current'), flags);
    const prefix = Buffer.from(`/proc/self/fd/${current}/`);
    // Read the directory until it is empty, because some file systems skip entries if others are removed during
    // reading.
    for (let isEmpty = false; !isEmpty; ) {
      isEmpty = true;
      const directory = openDirectory(prefix);
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        isEmpty = false;
        const child = Buffer.concat([prefix, nameBytesOf(entry)]);
        if (lstatSync(child).isDirectory()) renameSync(child, inFolder(waiting++));
        else unlinkSync(child);
        if (++seen % pauseAfter === 0) await pause();
      }
      directory.closeSync();
    }
    closeSync(current);
    rmdirSync(inFolder('current'));
  }
  closeSync(fd);
  rmdirSync(folder);
}
