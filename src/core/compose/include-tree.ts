import { dirname, join, resolve } from 'node:path';
import { UpdateError } from '../errors/update-error.ts';
import {
  type ComposeFile,
  type FileReference,
  getParsedComposeFile,
  type IncludeEntry,
} from './compose-file.ts';
import { type ComposeVariableLookup, interpolate } from './interpolation.ts';
import { displayPathOf, type ProjectFiles, projectDirectoryOf } from './project-files.ts';
import { createSourceMappedText } from './source-map.ts';
import { createVariableLookup } from './variables.ts';

// Maximum number of files. Without it, two files that include each other with changing base directories would cause an
// endless loop.
const mostLayers = 1000;

/** A compose file, with the base directory of its relative paths and the values of its variables. */
export interface ComposeSource {
  file: ComposeFile;
  /** File name as shown to users. */
  name: string;
  /** Base directory of relative paths in the file. */
  base: string;
  variables: ComposeVariableLookup;
  /** Whether the file's `include` entries are followed; false for files loaded by `extends`. */
  followsIncludes: boolean;
}

/** Compose file or env file to which another file refers. */
export interface ReferencedFile {
  path: string;
  /** Kind of reference: `include`, `extends`, `env_file` */
  kind: string;
  /** File and line of the reference, as shown to users. */
  referencedAt: string;
  isOptional: boolean;
}

/**
 * Returns the files passed with `-f`. Their relative paths all start at the project directory (compose-go, loader.go).
 */
export function listRootSources(files: ProjectFiles): ComposeSource[] {
  const given = new Map(Object.entries(files.given ?? {}));
  const variables = createVariableLookup(files.envFiles, (variable) => {
    const text = given.get(variable);
    return text === undefined ? null : createSourceMappedText(text, '', -1, { via: 'variable', variable });
  });
  const base = projectDirectoryOf(files);
  return files.composeFiles.map((file) => ({
    file: getParsedComposeFile(file),
    name: displayPathOf(files, file.path),
    base,
    variables,
    followsIncludes: true,
  }));
}

/**
 * Returns the files of an `include` entry in ascending order of precedence. An error takes the place of each missing
 * file.
 */
export function resolveIncludedSources(
  files: ProjectFiles,
  layer: ComposeSource,
  include: IncludeEntry,
): (ComposeSource | UpdateError)[] {
  const { base, env } = resolveIncludeScope(layer, include);
  const own = env.flatMap(({ path }) => files.linkedEnvFiles?.find((file) => file.path === path) ?? []);
  const variables = own.length === 0 ? layer.variables : createVariableLookup(own, layer.variables);
  return include.paths.map((link) => {
    const file = findReferencedFile(files, layer, link, 'include');
    if (file instanceof UpdateError) return file;
    return { file, name: displayPathOf(files, file.file.path), base, variables, followsIncludes: true };
  });
}

/**
 * Returns the base directory of relative paths in included files, and their additional env files (compose-go,
 * include.go).
 */
function resolveIncludeScope(
  layer: ComposeSource,
  include: IncludeEntry,
): { base: string; env: ReferencedFile[] } {
  const [main] = include.paths;
  const { projectDirectory, envFiles } = include;
  const directory =
    projectDirectory === null
      ? null
      : resolve(layer.base, resolveTextVariables(layer, projectDirectory, 'include'));
  const base = directory ?? dirname(main ? resolveReferencedPath(layer, main) : layer.base);
  // Compose treats an empty list like a missing list.
  if (!envFiles?.length) {
    const where = formatLineLocation(layer, main?.line ?? 1);
    return {
      base,
      env: [{ path: join(base, '.env'), kind: 'env file of include', referencedAt: where, isOptional: true }],
    };
  }
  const env = envFiles.map((link) => ({
    path: resolveReferencedPath(layer, link),
    kind: 'env_file',
    referencedAt: formatLineLocation(layer, link.line),
    isOptional: false,
  }));
  return { base, env: env.filter(({ path }) => path !== '/dev/null') };
}

/** Returns the file that a service extends. Paths in this file are relative to its own directory. */
export function resolveExtendedSource(
  files: ProjectFiles,
  layer: ComposeSource,
  link: FileReference,
): ComposeSource | UpdateError {
  const file = findReferencedFile(files, layer, link, 'extends');
  if (file instanceof UpdateError) return file;
  const { path } = file.file;
  return {
    file,
    name: displayPathOf(files, path),
    base: dirname(path),
    variables: layer.variables,
    followsIncludes: false,
  };
}

/** Returns an error if the file is missing. */
function findReferencedFile(
  files: ProjectFiles,
  layer: ComposeSource,
  link: FileReference,
  as: string,
): ComposeFile | UpdateError {
  const { path, referencedAt: where } = referencedFileOf(layer, link, as);
  const file = [...files.composeFiles, ...(files.linkedFiles ?? [])].find((known) => known.path === path);
  return file ? getParsedComposeFile(file) : createMissingFileError(path, as, where);
}

export const createMissingFileError = (path: string, as: string, where: string): UpdateError =>
  new UpdateError('compose-invalid', `${where}: ${as} ${path} does not exist`, {
    advice: 'Create the file, or remove the line.',
  });

const referencedFileOf = (layer: ComposeSource, link: FileReference, as: string): ReferencedFile => ({
  path: resolveReferencedPath(layer, link),
  kind: as,
  referencedAt: formatLineLocation(layer, link.line),
  isOptional: false,
});

/** Returns the absolute path, with variables resolved. */
export const resolveReferencedPath = (layer: ComposeSource, { path, line }: FileReference): string =>
  resolve(layer.base, resolveTextVariables(layer, path, formatLineLocation(layer, line)));

export const resolveTextVariables = (
  { file, variables }: ComposeSource,
  text: string,
  where: string,
): string =>
  interpolate(createSourceMappedText(text, file.file.path, -1, { via: 'text' }), variables, where).text;

export const formatLineLocation = ({ name }: ComposeSource, line: number): string => `${name} line ${line}`;

/**
 * Returns the `-f` files, and all files to which they refer, directly or through other files.
 * @throws UpdateError compose-invalid if there are more than 1000 files, for example because files include each other
 */
export function resolveIncludeTree(files: ProjectFiles) {
  /** Compose files to which `include` and `extends` refer, each once, including missing files. */
  const composeFiles = new Map<string, ReferencedFile>();
  /** Env files to which `include` entries refer, each once, including missing files. */
  const envFiles = new Map<string, ReferencedFile>();
  const seen = new Set<string>();
  /** Compose files, starting with the `-f` files. */
  const layers: ComposeSource[] = [];
  const queue = listRootSources(files);
  for (let layer = queue.shift(); layer; layer = queue.shift()) {
    // A file that is included with several base directories is listed once for each of them.
    const location = `${layer.file.file.path}\n${layer.base}`;
    if (seen.has(location)) continue;
    seen.add(location);
    if (seen.size > mostLayers) {
      throw new UpdateError(
        'compose-invalid',
        `${formatLineLocation(layer, 1)}: include and extends refer to more than ${mostLayers} files`,
      );
    }
    layers.push(layer);
    const note = (link: FileReference, as: string) => {
      const target = referencedFileOf(layer, link, as);
      if (!composeFiles.has(target.path)) composeFiles.set(target.path, target);
    };
    for (const include of layer.followsIncludes ? layer.file.includes : []) {
      for (const link of include.paths) note(link, 'include');
      for (const linked of resolveIncludeScope(layer, include).env) envFiles.set(linked.path, linked);
      queue.push(...resolveIncludedSources(files, layer, include).filter(isLayer));
    }
    for (const link of layer.file.extendedFiles) {
      note(link, 'extends');
      const base = resolveExtendedSource(files, layer, link);
      if (isLayer(base)) queue.push(base);
    }
  }
  return { sources: layers, composeFiles: [...composeFiles.values()], envFiles: [...envFiles.values()] };
}

/**
 * Returns the services whose `env_file` lists one of the files, directly or through `extends`. Compose must already
 * have accepted the project, because a circular `extends` would cause endless recursion.
 */
export function findServicesByEnvFile(files: ProjectFiles, paths: readonly string[]): string[] {
  const reads = (layer: ComposeSource, name: string): boolean => {
    const { envFiles = [], extends: base = null } = layer.file.getService(name) ?? {};
    if (envFiles.some((link) => paths.includes(resolveReferencedPath(layer, link)))) return true;
    if (base === null) return false;
    const { file, line } = base;
    const from = file === null ? layer : resolveExtendedSource(files, layer, { path: file, line });
    return (
      isLayer(from) && reads(from, resolveTextVariables(layer, base.service, formatLineLocation(layer, line)))
    );
  };
  const { sources: layers } = resolveIncludeTree(files);
  return layers.flatMap((layer) =>
    layer.file.serviceNames.filter((name) => layer.followsIncludes && reads(layer, name)),
  );
}

const isLayer = (found: ComposeSource | UpdateError): found is ComposeSource =>
  !(found instanceof UpdateError);
