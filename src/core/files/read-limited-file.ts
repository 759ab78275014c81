import { constants, open } from 'node:fs/promises';

/** Default maximum size in bytes: larger than any valid file that a publisher signs, or any config.json. */
const usualLimit = 1024 * 1024;

/**
 * Reads a regular file.
 * @throws Error EFBIG if the file is larger than the limit; EINVAL for a pipe or device, which may be endless; other
 * errors of the file system
 */
export async function readLimitedFile(path: string, limit = usualLimit): Promise<Buffer> {
  // Without O_NONBLOCK, opening a named pipe would block.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = await file.stat();
    if (status.isDirectory()) throw createFileError('EISDIR', `${path} is a directory`);
    if (!status.isFile()) throw createFileError('EINVAL', `${path} is not a regular file`);
    if (status.size > limit) throw createFileError('EFBIG', `${path} is larger than ${limit} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

const createFileError = (code: string, message: string): NodeJS.ErrnoException =>
  Object.assign(new Error(message), { code });
