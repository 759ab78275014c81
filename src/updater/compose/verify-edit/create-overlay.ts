import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isMap, isScalar, isSeq, type Node } from 'yaml';
import type { ComposeFile } from '../../../core/compose/compose-file.ts';
import {
  type ComposeSource,
  formatLineLocation,
  resolveIncludeTree,
  resolveTextVariables,
} from '../../../core/compose/include-tree.ts';
import { listProjectFiles, type ProjectFiles } from '../../../core/compose/project-files.ts';
import type { YamlDocument } from '../../../core/compose/yaml-document.ts';
import type { TextFile } from '../../../core/files/text-file.ts';

/**
 * Creates an overlay directory under `stage`. It contains the new contents of the files at their original paths.
 * Symbolic links lead to everything else in the files' directories and all parent directories. `include` and `extends`
 * then find the new contents, and relative paths still lead to the original files.
 */
export async function createOverlayDirectory(
  stage: string,
  directory: string,
  files: ProjectFiles,
): Promise<string> {
  const root = overlayPathOf(stage);
  const all = listProjectFiles(files);
  const own = new Set(all.map(({ path }) => path));
  const { sources: layers } = resolveIncludeTree(files);
  const places = [directory, ...layers.map(({ base }) => base), ...all.map(({ path }) => dirname(path))];
  const shadowed = new Set(places.flatMap(listPathAndParents));
  for (const path of shadowed) {
    await mkdir(join(root, path), { recursive: true });
    // A directory that cannot be listed gets no links, because it contains nothing that compose finds by name alone.
    for (const name of await readdir(path).catch(() => [])) {
      const entry = join(path, name);
      if (!own.has(entry) && !shadowed.has(entry)) await symlink(entry, join(root, entry));
    }
  }
  for (const file of all)
    await writeFile(join(root, file.path), redirectAbsoluteLinks(root, file, layers), { mode: 0o600 });
  return root;
}

export const overlayPathOf = (stage: string): string => join(stage, 'shadow');

/**
 * Prefixes absolute paths in `include` and `extends` with the overlay directory. Otherwise, such a path would lead to
 * the unchanged file.
 */
function redirectAbsoluteLinks(
  root: string,
  { path, text }: TextFile,
  layers: readonly ComposeSource[],
): string {
  const reads = layers.filter(({ file }) => file.file.path === path);
  const [first] = reads;
  if (first === undefined) return text;
  const isAbsolute = (link: string) =>
    reads.some((layer) => resolveTextVariables(layer, link, formatLineLocation(layer, 1)).startsWith('/'));
  return findLinkPositions(first.file)
    .filter((location) => isAbsolute(location.path))
    .sort((a, b) => b.start - a.start)
    .reduce((done, { start }) => `${done.slice(0, start)}${root}${done.slice(start)}`, text);
}

/** Returns the path and all its parent directories. */
function listPathAndParents(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...listPathAndParents(above)];
}

/** Position of a path in an `include` or `extends` key of a file. */
interface LinkPosition {
  /** Path as written, with variables. */
  path: string;
  /** Offset of the path's first character. If the value is a YAML alias, the aliased path counts. */
  start: number;
}

/** Finds the positions of all paths in `include` and `extends`: the paths of linked files and base directories. */
function findLinkPositions({ documents }: ComposeFile): LinkPosition[] {
  const places = documents.flatMap((yaml) => [
    ...findIncludePositions(yaml, yaml.get(yaml.contents, 'include')),
    ...findExtendsPositions(yaml, yaml.get(yaml.contents, 'services')),
  ]);
  return [...new Map(places.map((location) => [location.start, location])).values()];
}

function findIncludePositions(yaml: YamlDocument, list: Node | null): LinkPosition[] {
  return (isSeq(list) ? list.items : []).flatMap((item) => {
    const entry = yaml.resolveAlias(item);
    if (!isMap(entry)) return findPathPositions(yaml, entry);
    return ['path', 'project_directory', 'env_file'].flatMap((key) =>
      findPathPositions(yaml, yaml.get(entry, key)),
    );
  });
}

const findExtendsPositions = (yaml: YamlDocument, services: Node | null): LinkPosition[] =>
  yaml
    .keys(services)
    .flatMap((name) =>
      findPathPositions(yaml, yaml.get(yaml.get(yaml.get(services, name), 'extends'), 'file')),
    );

/** Finds the positions of one path, or of all paths in a list. A path is a string, or the `path` of a mapping. */
function findPathPositions(yaml: YamlDocument, node: unknown): LinkPosition[] {
  const found = yaml.resolveAlias(node);
  if (isSeq(found)) return found.items.flatMap((item) => findPathPositions(yaml, item));
  if (isMap(found)) return findPathPositions(yaml, yaml.get(found, 'path'));
  if (!isScalar(found) || typeof found.value !== 'string') return [];
  const [from = 0] = found.range ?? [];
  const isQuoted = found.type === 'QUOTE_DOUBLE' || found.type === 'QUOTE_SINGLE';
  // A block scalar is skipped, because its text starts below its header.
  return found.type === 'PLAIN' || isQuoted ? [{ path: found.value, start: isQuoted ? from + 1 : from }] : [];
}
