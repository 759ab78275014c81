import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TextFile } from '../compose/text-file.ts';
import { isWithin } from './host-paths.ts';

/**
 * A second root under `stage` in which these files have these texts, each at its own path, and everything else beside
 * them, down from `directory`, is linked to what it is: so that `include` and `extends` lead to the new texts.
 */
export async function castShadow(
  stage: string,
  directory: string,
  files: readonly TextFile[],
): Promise<void> {
  const own = new Set(files.map(({ path }) => path));
  const shadowed = new Set([directory, ...files.flatMap(({ path }) => wayDown(directory, dirname(path)))]);
  for (const path of shadowed) {
    await mkdir(join(stage, path), { recursive: true });
    for (const name of await readdir(path)) {
      const entry = join(path, name);
      const isReal = own.has(entry) || [...shadowed].some((other) => isWithin(other, entry));
      if (!isReal) await symlink(entry, join(stage, entry));
    }
  }
  await Promise.all(files.map(({ path, text }) => writeFile(join(stage, path), text, { mode: 0o600 })));
}

/** From `path` up to `directory`; `path` alone where it lies elsewhere. */
function wayDown(directory: string, path: string): string[] {
  const way = [path];
  while (path !== directory && isWithin(path, directory)) {
    path = dirname(path);
    way.push(path);
  }
  return way;
}
