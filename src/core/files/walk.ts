import { type Dir, type Dirent, lstatSync, opendirSync, type Stats } from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';

/** rsync and the kernel take paths of 4,096 bytes, together with the mount point and rsync's own temporary name. */
const longestPath = 4_000;
const pauseAfter = 1_000;

interface Found {
  /** Below the mount: `/sub/file`, empty for the mount itself. */
  name: Buffer;
  full: Buffer;
  /** Null if the name is too long to be looked at. */
  status: Stats | null;
}

/**
 * Every file once, a directory before its content. Names are bytes, and only those of one path are in memory. Files that
 * disappear while the app runs are skipped; a directory that the caller removes is not entered.
 */
export async function* walk(path: string, excluded: readonly string[]): AsyncGenerator<Found> {
  const skipped = new Set(excluded.map((each) => Buffer.from(`/${each}`).toString('latin1')));
  const top = Buffer.from(path);
  const own = unlessGone(() => lstatSync(top));
  if (own === null) return;
  yield { name: Buffer.alloc(0), full: top, status: own };
  const open: { parent: Buffer; directory: Dir }[] = [];
  const enter = (parent: Buffer) => {
    const directory = unlessGone(() => openDirectory(Buffer.concat([top, parent])));
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
      const status = isTooLong ? null : unlessGone(() => lstatSync(full));
      if (!isTooLong && status === null) continue;
      yield { name, full, status };
      if (status?.isDirectory() && status.dev === own.dev) enter(name);
      // The updater's end is only noticed in a pause.
      if (seen++ % pauseAfter === 0) await pause();
    }
  } finally {
    for (const { directory } of open) directory.closeSync();
  }
}

/** Its entries are read in portions, with names as bytes. */
export const openDirectory = (path: Buffer): Dir => opendirSync(path, { encoding: 'buffer' as never });
export const nameBytesOf = ({ name }: Dirent): Buffer => name as unknown as Buffer;

export function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
