import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Layer, placeOf, reachOf, resolvedText } from '../../compose/layers.ts';
import { allFiles, type ProjectFiles } from '../../compose/project-files.ts';
import type { TextFile } from '../../files/text-file.ts';
import { linkPlaces } from './link-places.ts';

/**
 * A second root under `stage` in which the project's files have these texts, each at its own path, and everything else
 * beside them, down from the root, is linked to what it is: so that `include` and `extends` lead to the new texts, and
 * relative paths to what they always lead to. Gives the root.
 */
export async function castShadow(stage: string, directory: string, files: ProjectFiles): Promise<string> {
  const root = shadowOf(stage);
  const all = allFiles(files);
  const own = new Set(all.map(({ path }) => path));
  const { layers } = reachOf(files);
  const places = [directory, ...layers.map(({ base }) => base), ...all.map(({ path }) => dirname(path))];
  const shadowed = new Set(places.flatMap(wayDown));
  for (const path of shadowed) {
    await mkdir(join(root, path), { recursive: true });
    // What cannot be listed has nothing in it that compose finds by its name alone.
    for (const name of await readdir(path).catch(() => [])) {
      const entry = join(path, name);
      if (!own.has(entry) && !shadowed.has(entry)) await symlink(entry, join(root, entry));
    }
  }
  await Promise.all(
    all.map((file) =>
      writeFile(join(root, file.path), intoShadow(root, file, layers), {
        mode: 0o600,
      }),
    ),
  );
  return root;
}

export const shadowOf = (stage: string): string => join(stage, 'shadow');

/** The text with the links that begin at the root: they would lead out of the shadow, to the unchanged files. */
function intoShadow(root: string, { path, text }: TextFile, layers: readonly Layer[]): string {
  const reads = layers.filter(({ file }) => file.file.path === path);
  const [first] = reads;
  if (first === undefined) return text;
  const isAbsolute = (link: string) =>
    reads.some((layer) => resolvedText(layer, link, placeOf(layer, 1)).startsWith('/'));
  return linkPlaces(first.file)
    .filter((place) => isAbsolute(place.path))
    .sort((a, b) => b.start - a.start)
    .reduce((done, { start }) => `${done.slice(0, start)}${root}${done.slice(start)}`, text);
}

/** From `path` up to the root. */
function wayDown(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...wayDown(above)];
}
