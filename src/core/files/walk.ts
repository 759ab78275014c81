import { lstatSync, opendirSync, type Stats } from 'node:fs';
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

/** Every file once, a directory before its content. Names are bytes. While the app runs, files disappear: they are skipped. */
export async function* walk(path: string, excluded: readonly string[]): AsyncGenerator<Found> {
  const skipped = new Set(excluded.map((each) => Buffer.from(`/${each}`).toString('latin1')));
  const top = Buffer.from(path);
  const own = unlessGone(() => lstatSync(top));
  if (own === null) return;
  yield { name: Buffer.alloc(0), full: top, status: own };
  const waiting = own.isDirectory() ? [Buffer.alloc(0)] : [];
  let seen = 0;
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    const directory = unlessGone(() =>
      opendirSync(Buffer.concat([top, parent]), { encoding: 'buffer' as never }),
    );
    for (let entry = directory?.readSync(); entry; entry = directory?.readSync()) {
      const name = Buffer.concat([parent, Buffer.from('/'), entry.name as unknown as Buffer]);
      if (skipped.size > 0 && skipped.has(name.toString('latin1'))) continue;
      const full = Buffer.concat([top, name]);
      const isTooLong = name.length - 1 > longestPath;
      const status = isTooLong ? null : unlessGone(() => lstatSync(full));
      if (!isTooLong && status === null) continue;
      yield { name, full, status };
      if (status?.isDirectory() && status.dev === own.dev) waiting.push(name);
      // The updater's end is only noticed in a pause.
      if (++seen % pauseAfter === 0) await pause();
    }
    directory?.closeSync();
  }
}

export function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
