import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, dirname } from 'node:path';
import { names } from '../names.ts';
import { refused } from './failure.ts';

/** Ends what `takeLock` began. */
export interface Lock {
  /** Whether anybody else is kept out: not where the system has no such lock. */
  isHeld: boolean;
  release(): Promise<void>;
}

/**
 * Keeps a second update of the same file out. It is a name for a socket in the kernel, where nobody connects: a process
 * that is killed leaves nothing behind. Other systems have no such names; there the temporary files of two updates have
 * names of their own, and the last one wins.
 * @throws Failure, refused
 */
export async function takeLock(file: string): Promise<Lock> {
  const none = { isHeld: false, release: async () => {} };
  if (process.platform !== 'linux') return none;
  const { dev, ino } = await stat(dirname(file));
  // By the directory, not by the path: mounts give one file several paths, and one path several files.
  const name = createHash('sha256')
    .update(`${dev}:${ino}/${basename(file)}`)
    .digest('hex')
    .slice(0, 40);
  const server = createServer((socket) => socket.destroy());
  const problem = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    server.once('error', resolve);
    server.listen(`\0svc-update-${name}`, () => resolve(null));
  });
  if (problem?.code === 'EADDRINUSE')
    throw refused(
      `${file} is being replaced by another ${names().name} update.`,
      'wait until that one has ended, then run it again.',
    );
  if (problem) return none;
  server.unref();
  return { isHeld: true, release: () => new Promise((resolve) => server.close(() => resolve())) };
}
