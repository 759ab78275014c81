import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stateDirectoryOf } from './state-directory.ts';

// If a bad release has filled the disk, a rollback frees the space of the reserve files. Measured on a full ext4 disk:
// creating a container takes 0.3 MB and 50 files. Starting a container takes 0.1 MB and 10 files.

const fileBytes = 65_536;
/** Number of files in each part. The part `journal` only makes room for the journal. */
const parts = { journal: 32, engine: 96 } as const;
type Part = keyof typeof parts;
const allParts = Object.keys(parts) as readonly Part[];

export const reserveFileCount = parts.journal + parts.engine;
export const reserveSizeBytes = fileBytes * reserveFileCount;

const pathOf = (directory: string, part: Part): string =>
  join(stateDirectoryOf(directory), `reserve-${part}`);

/**
 * The reserve is optional, so errors such as a full disk are ignored.
 * @param directory - the compose directory
 */
export async function createReserveFiles(directory: string): Promise<void> {
  try {
    for (const part of allParts) {
      const path = pathOf(directory, part);
      await rm(path, { recursive: true, force: true });
      await mkdir(path, { mode: 0o700 });
      for (let at = 0; at < parts[part]; at++)
        // Random content, because a file system may compress files.
        await writeFile(join(path, `${at}`), randomBytes(fileBytes), { mode: 0o600, flag: 'wx' });
    }
  } catch {}
}

export async function removeReserveFiles(directory: string, which = allParts): Promise<void> {
  for (const part of which)
    await rm(pathOf(directory, part), { recursive: true, force: true }).catch(() => {});
}
