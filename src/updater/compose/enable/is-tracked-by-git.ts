import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { readLimitedFile } from '../../../core/files/read-limited-file.ts';

const maxIndexBytes = 64 * 1024 * 1024;

/** Whether the index of a Git repository above a file lists the file. Only mounted directories can be searched. */
export async function isTrackedByGit(path: string): Promise<boolean> {
  const real = await realpath(path).catch(() => path);
  for (let directory = dirname(real); ; directory = dirname(directory)) {
    const index = await readIndex(join(directory, '.git'));
    if (index !== null) return isListed(index, relative(directory, real));
    if (dirname(directory) === directory) return false;
  }
}

/** In a worktree or submodule, `.git` is a file with the path of the directory. */
async function readIndex(git: string): Promise<Buffer | null> {
  const text = await readLimitedFile(git).catch(() => null);
  const [, linked] = /^gitdir: (.*)$/m.exec(String(text)) ?? [];
  const directory = linked === undefined ? git : resolve(dirname(git), linked);
  const path = join(directory, 'index');
  return readLimitedFile(path, { limit: maxIndexBytes }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') return null;
    const message = `${path} cannot be read (${cause.code}), so it is unknown whether Git tracks the env file`;
    throw new UpdateError('enable-refused', message, {
      advice: 'Make the file readable, then run enable again.',
    });
  });
}

/**
 * In the index, two bytes with its length precede a name, or these and two bytes of flags, and a zero byte follows it.
 * Version 4 of the format shortens names, so only the last part of the path is compared.
 */
function isListed(index: Buffer, path: string): boolean {
  if (index.length < 12) return false;
  if (index.readUInt32BE(4) === 4) return index.includes(`${basename(path)}\0`);
  const { length } = Buffer.from(path);
  for (let at = index.indexOf(`${path}\0`); at >= 0; at = index.indexOf(`${path}\0`, at + 1))
    if ([2, 4].some((bytes) => (index.readUInt16BE(at - bytes) & 0xfff) === Math.min(length, 0xfff)))
      return true;
  return false;
}
