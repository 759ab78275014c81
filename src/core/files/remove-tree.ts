import {
  closeSync,
  constants,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';

const pauseAfter = 1_000;

/** Of any depth, with short paths and two open files: each directory in it is moved to one folder, emptied and removed. */
export async function removeTree(top: string, path: Buffer): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const folder = mkdtempSync(`${top}/.removed-`);
  const fd = openSync(folder, flags);
  const inFolder = (number: number) => `/proc/self/fd/${fd}/${number}`;
  renameSync(path, inFolder(0));
  const waiting = [0];
  let last = 0;
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    const directory = openSync(inFolder(each), flags);
    const prefix = Buffer.from(`/proc/self/fd/${directory}/`);
    for (const name of readdirSync(prefix, { encoding: 'buffer' })) {
      const child = Buffer.concat([prefix, name]);
      if (!lstatSync(child).isDirectory()) unlinkSync(child);
      else {
        renameSync(child, inFolder(++last));
        waiting.push(last);
      }
    }
    closeSync(directory);
    rmdirSync(inFolder(each));
    if (last % pauseAfter === 0) await pause();
  }
  closeSync(fd);
  rmdirSync(folder);
}
