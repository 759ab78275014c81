import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { allEnvFiles, allFiles, type ProjectFiles } from '../../compose/project-files.ts';
import { isWithin } from '../../files/host-paths.ts';

/**
 * A second root under `stage` in which the project's files have these texts, each at its own path, and everything else
 * beside them, down from `directory`, is linked to what it is: so that `include` and `extends` lead to the new texts.
 * Gives the root.
 */
export async function castShadow(
  stage: string,
  directory: string,
  files: ProjectFiles,
  changed: readonly string[],
): Promise<string> {
  const root = shadowOf(stage);
  const all = allFiles(files);
  const own = new Set(all.map(({ path }) => path));
  const shadowed = new Set([directory, ...all.flatMap(({ path }) => wayDown(directory, dirname(path)))]);
  for (const path of shadowed) {
    await mkdir(join(root, path), { recursive: true });
    for (const name of await readdir(path)) {
      const entry = join(path, name);
      const isReal = own.has(entry) || [...shadowed].some((other) => isWithin(other, entry));
      if (!isReal) await symlink(entry, join(root, entry));
    }
  }
  // An `include` by an absolute path would lead out of the shadow, to the unchanged file.
  const shadowLinks = (text: string) =>
    changed.reduce((done, path) => done.replaceAll(path, `${root}${path}`), text);
  const env = new Set(allEnvFiles(files));
  await Promise.all(
    all.map((file) =>
      writeFile(join(root, file.path), env.has(file) ? file.text : shadowLinks(file.text), { mode: 0o600 }),
    ),
  );
  return root;
}

export const shadowOf = (stage: string): string => join(stage, 'shadow');

/** From `path` up to `directory`; `path` alone where it lies elsewhere. */
function wayDown(directory: string, path: string): string[] {
  const way = [path];
  while (path !== directory && isWithin(path, directory)) {
    path = dirname(path);
    way.push(path);
  }
  return way;
}
