import { constants, open } from 'node:fs/promises';

/** Default maximum size in bytes: larger than any valid file that a publisher signs, or any config.json. */
const usualLimit = 1024 * 1024;

/**
 * Reads a regular file.
 * @param options.mayBeLink - whether to follow a symbolic link; otherwise a link is an error (ELOOP)
 * @throws Error EFBIG if the file is larger than the limit; EISDIR; EINVAL for a pipe, socket or device, which may
 * be endless; other errors of the file system
 */
export async function readLimitedFile(
  path: string,
  { limit = usualLimit, mayBeLink = true } = {},
): Promise<Buffer> {
  // Without O_NONBLOCK, opening a named pipe would block.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (mayBeLink ? 0 : constants.O_NOFOLLOW);
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    // A Unix socket, or a device without a driver.
    throw error.code === 'ENXIO' || error.code === 'ENODEV'
      ? createFileError('EINVAL', `${path} is not a regular file`)
      : error;
  });
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
