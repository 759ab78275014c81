import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** On a read-only root (`docker run --read-only`) temporary files go to /dev/shm, which every container has. */
export async function chooseTemporaryDirectory(): Promise<void> {
  try {
    await rm(await mkdtemp(join(tmpdir(), 'svc-updater-')), { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
    process.env.TMPDIR = '/dev/shm';
  }
}
