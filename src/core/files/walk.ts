import { type Dir, type Dirent, lstatSync, opendirSync, type Stats } from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';

/**
 * Maximum length in bytes of a path relative to the mount. The limit of the kernel is 4,096 bytes, including the mount
 * point and the temporary name of rsync.
 */
const longestPath = 4_000;
const pauseAfter = 1_000;

interface WalkEntry {
  /** Path relative to the top directory, such as `/sub/file`; empty for the top directory itself. */
  name: Buffer;
  full: Buffer;
  /** Null if the path is too long for a system call. */
  status: Stats | null;
}

/**
 * Yields every file and directory once, each directory before its contents. Does not enter directories on other
 * devices, or directories that the caller removes.
 */
export async function* walkTree(path: string, excluded: readonly string[]): AsyncGenerator<WalkEntry> {
  const skipped = new Set(excluded.map((each) => Buffer.from(`/${each}`).toString('latin1')));
  const top = Buffer.from(path);
  const own = readIfExists(() => lstatSync(top));
  if (own === null) return;
  yield { name: Buffer.alloc(0), full: top, status: own };
  // Only the open directories are kept in memory, so memory use does not grow with the number of files.
  const open: { parent: Buffer; directory: Dir }[] = [];
  const enter = (parent: Buffer) => {
    const directory = readIfExists(() => openDirectory(Buffer.concat([top, parent])));
    if (directory) open.push({ parent, directory });
  };
  try {
    if (own.isDirectory()) enter(Buffer.alloc(0));
    for (let seen = 1, last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const entry = last.directory.readSync();
      if (entry === null) {
        open.pop()?.directory.closeSync();
        continue;
      }
      const name = Buffer.concat([last.parent, Buffer.from('/'), nameBytesOf(entry)]);
      if (skipped.size > 0 && skipped.has(name.toString('latin1'))) continue;
      const full = Buffer.concat([top, name]);
      const isTooLong = name.length - 1 > longestPath;
      const status = isTooLong ? null : readIfExists(() => lstatSync(full));
      // Skip a file that disappeared during the walk.
      if (!isTooLong && status === null) continue;
      yield { name, full, status };
      if (status?.isDirectory() && status.dev === own.dev) enter(name);
      // The process can handle a shutdown signal only during a pause, because all other calls are synchronous.
      if (seen++ % pauseAfter === 0) await pause();
    }
  } finally {
    for (const { directory } of open) directory.closeSync();
  }
}

/** Opens a directory for reading. The names of its entries are bytes, which Node's types do not declare. */
export const openDirectory = (path: Buffer): Dir => opendirSync(path, { encoding: 'buffer' as never });
export const nameBytesOf = ({ name }: Dirent): Buffer => name as unknown as Buffer;

export function readIfExists<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
