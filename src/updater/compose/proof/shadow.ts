import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMap, isScalar, isSeq, type Node } from 'yaml';
import type { ComposeFile } from '../../../core/compose/compose-file.ts';
import { type Layer, placeOf, reachOf, resolvedText } from '../../../core/compose/layers.ts';
import { allFiles, type ProjectFiles } from '../../../core/compose/project-files.ts';
import type { YamlDocument } from '../../../core/compose/yaml-document.ts';
import type { TextFile } from '../../../core/files/text-file.ts';

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
  for (const file of all)
    await writeFile(join(root, file.path), intoShadow(root, file, layers), { mode: 0o600 });
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

/** Where the path of an `include` or `extends` is written. */
interface LinkPlace {
  /** As written, with variables. */
  path: string;
  /** Offset of its first character; an alias has that of what it stands for. */
  start: number;
}

/** All paths by which `include` and `extends` lead to another file, or say from where one starts. */
function linkPlaces({ documents }: ComposeFile): LinkPlace[] {
  const places = documents.flatMap((yaml) => [
    ...includePlaces(yaml, yaml.get(yaml.contents, 'include')),
    ...extendsPlaces(yaml, yaml.get(yaml.contents, 'services')),
  ]);
  return [...new Map(places.map((place) => [place.start, place])).values()];
}

function includePlaces(yaml: YamlDocument, list: Node | null): LinkPlace[] {
  return (isSeq(list) ? list.items : []).flatMap((item) => {
    const entry = yaml.follow(item);
    if (!isMap(entry)) return placesIn(yaml, entry);
    return ['path', 'project_directory', 'env_file'].flatMap((key) => placesIn(yaml, yaml.get(entry, key)));
  });
}

const extendsPlaces = (yaml: YamlDocument, services: Node | null): LinkPlace[] =>
  yaml
    .keys(services)
    .flatMap((name) => placesIn(yaml, yaml.get(yaml.get(yaml.get(services, name), 'extends'), 'file')));

/** Of one path or a list; each a text or a mapping with `path`. */
function placesIn(yaml: YamlDocument, node: unknown): LinkPlace[] {
  const found = yaml.follow(node);
  if (isSeq(found)) return found.items.flatMap((item) => placesIn(yaml, item));
  if (isMap(found)) return placesIn(yaml, yaml.get(found, 'path'));
  if (!isScalar(found) || typeof found.value !== 'string') return [];
  const [from = 0] = found.range ?? [];
  const isQuoted = found.type === 'QUOTE_DOUBLE' || found.type === 'QUOTE_SINGLE';
  // A path in a block begins below its head.
  return found.type === 'PLAIN' || isQuoted ? [{ path: found.value, start: isQuoted ? from + 1 : from }] : [];
}
