import { readlink, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { formatSamePathMountAdvice, runAsRootAdvice } from '../errors/advice.ts';
import { UpdateError } from '../errors/update-error.ts';
import { readLimitedFile } from './read-limited-file.ts';

/** A file whose text is exactly as on disk, including the byte order mark. Offsets in the text count UTF-16 units. */
export interface TextFile {
  path: string;
  text: string;
}

const maxBytes = 5 * 1024 * 1024;

/**
 * Reads a compose file or env file without changing its byte order mark or line breaks.
 * @throws UpdateError compose-invalid if the file is missing, unreadable, over 5 MiB or not UTF-8; outside-mounts if it
 * is a link to a file that is not mounted; not-a-file
 */
export async function readTextFile(path: string): Promise<TextFile> {
  const bytes = await readLimitedFile(path, { limit: maxBytes }).catch(
    async (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'EISDIR' || cause.code === 'EINVAL') throw createNotAFileError(path);
      if (cause.code === 'EFBIG')
        throw new UpdateError('compose-invalid', `${path} is larger than 5 MiB`, {
          advice: 'This does not look like a compose or env file. Check its content.',
        });
      const isMissing = cause.code === 'ENOENT';
      if (isMissing) await rejectUnmountedLink(path);
      const why = isMissing ? 'does not exist' : `cannot be read (${cause.code ?? cause.message})`;
      throw new UpdateError('compose-invalid', `${path} ${why}`, {
        advice:
          cause.code === 'EACCES' || cause.code === 'EPERM'
            ? runAsRootAdvice
            : 'Restore the file, or run {up} to recreate the app from its current files.',
        cause,
      });
    },
  );
  try {
    return { path, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch (cause) {
    throw new UpdateError('compose-invalid', `${path} is not UTF-8 text`, {
      advice: 'Save the file as UTF-8.',
      cause,
    });
  }
}

const createNotAFileError = (path: string): UpdateError =>
  new UpdateError('not-a-file', `${path} is not a regular file`);

async function rejectUnmountedLink(path: string): Promise<void> {
  const link = await readlink(path).catch(() => null);
  if (link === null) return;
  const target = resolve(dirname(path), link);
  throw new UpdateError(
    'outside-mounts',
    `${path} is a link to ${target}, which is not mounted into this container`,
    {
      advice: formatSamePathMountAdvice(dirname(target)),
    },
  );
}

/**
 * Accepts a regular file or a missing file.
 * @throws UpdateError not-a-file
 */
export async function requireRegularFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found !== null && !found.isFile()) throw createNotAFileError(path);
}

export async function readTextFileIfExists(path: string): Promise<TextFile | null> {
  try {
    return await readTextFile(path);
  } catch (error) {
    if (((error as UpdateError).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return null;
    throw error;
  }
}
