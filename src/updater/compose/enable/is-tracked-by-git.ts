import { dirname, join, relative } from 'node:path';
import { readLimitedFile } from '../../../core/files/read-limited-file.ts';

const maxIndexBytes = 64 * 1024 * 1024;

/** Whether the index of a Git repository above a file lists the file. Only mounted directories can be searched. */
export async function isTrackedByGit(path: string): Promise<boolean> {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    const index = await readLimitedFile(join(directory, '.git/index'), { limit: maxIndexBytes }).catch(
      () => null,
    );
    // In the index, the length of a name precedes the name, and a zero byte follows it.
    const name = Buffer.from(relative(directory, path));
    if (index !== null) return Buffer.from(index).includes(Buffer.of(0, name.length, ...name, 0));
    if (dirname(directory) === directory) return false;
  }
}
