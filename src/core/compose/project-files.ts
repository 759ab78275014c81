import { basename, dirname, relative } from 'node:path';
import { LineCounter } from 'yaml';
import type { TextFile } from '../files/text-file.ts';

/** Files that compose finds without `-f`, in order of preference (compose-go, cli/options.go). */
export const defaultComposeFileNames = [
  'compose.yaml',
  'compose.yml',
  'docker-compose.yml',
  'docker-compose.yaml',
];

/** Files of a project that compose reads. */
export interface ProjectFiles {
  /** Compose files in the order of `-f`. */
  composeFiles: readonly TextFile[];
  /** Env files in the order in which compose reads them. The last file that sets a variable takes precedence. */
  envFiles: readonly TextFile[];
  /** Path of the env file to which new variables are added. The file may not exist yet. */
  newEnvFile: string;
  /** Base directory of relative paths in the files; by default, the directory of the first file. */
  directory?: string;
  /** Readable files to which `include` and `extends` refer. */
  linkedFiles?: readonly TextFile[];
  /** Env files to which `include` entries refer. */
  linkedEnvFiles?: readonly TextFile[];
  /** Variables from outside the files, such as COMPOSE_PROJECT_NAME and HOME. They take precedence over env files. */
  given?: Readonly<Record<string, string>>;
}

const lists = ['composeFiles', 'envFiles', 'linkedFiles', 'linkedEnvFiles'] as const;

export type ProjectFileListKey = (typeof lists)[number];

export const projectDirectoryOf = (files: ProjectFiles): string =>
  files.directory ?? dirname(files.composeFiles[0]?.path ?? files.newEnvFile);

/**
 * Returns the path to show in messages. The path is relative to the project directory. For a file outside this
 * directory, it is only the file name.
 */
export function displayPathOf(files: ProjectFiles, path: string): string {
  const directory = projectDirectoryOf(files);
  return path.startsWith(`${directory}/`) ? relative(directory, path) : basename(path);
}

export const findProjectFileListKey = (files: ProjectFiles, path: string): ProjectFileListKey | undefined =>
  lists.find((list) => files[list]?.some((file) => file.path === path));

/** Whether a path is that of a compose file, or of a file to which `include` or `extends` refers. */
export function isComposeFilePath(files: ProjectFiles, path: string): boolean {
  const list = findProjectFileListKey(files, path);
  return list === 'composeFiles' || list === 'linkedFiles';
}

export const listProjectFiles = (files: ProjectFiles): TextFile[] =>
  lists.flatMap((list) => files[list] ?? []);

/** Includes the env files of `include` entries. */
export const listEnvFiles = (files: ProjectFiles): TextFile[] => [
  ...files.envFiles,
  ...(files.linkedEnvFiles ?? []),
];

export const findProjectFile = (files: ProjectFiles, path: string): TextFile | undefined =>
  listProjectFiles(files).find((file) => file.path === path);

/** Replaces the project file that has the same path. If there is no such file, adds the file to `list`. */
export function setProjectFile(
  files: ProjectFiles,
  file: TextFile,
  list: ProjectFileListKey = 'envFiles',
): ProjectFiles {
  const holder = findProjectFileListKey(files, file.path);
  if (holder === undefined) return { ...files, [list]: [...(files[list] ?? []), file] };
  return { ...files, [holder]: files[holder]?.map((old) => (old.path === file.path ? file : old)) };
}

const counters = new WeakMap<TextFile, LineCounter>();

/** Returns a line number, starting at 1. The offsets of all lines are cached, because large files are queried often. */
export function lineNumberOf(file: TextFile, offset: number): number {
  let counter = counters.get(file);
  if (!counter) {
    counter = new LineCounter();
    for (let at = 0; at >= 0; at = file.text.indexOf('\n', at) + 1 || -1) counter.addNewLine(at);
    counters.set(file, counter);
  }
  return counter.linePos(offset).line;
}

/** Returns a location for messages: `compose.yaml line 3`. */
export function formatOffsetLocation(file: TextFile, offset: number): string {
  return `${basename(file.path)} line ${lineNumberOf(file, offset)}`;
}
