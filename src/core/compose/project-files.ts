import { basename, dirname, relative } from 'node:path';
import { LineCounter } from 'yaml';
import type { TextFile } from '../files/text-file.ts';

/** Names of the files that compose finds without `-f`, in its order of preference (compose-go, cli/options.go). */
export const defaultComposeFileNames = [
  'compose.yaml',
  'compose.yml',
  'docker-compose.yml',
  'docker-compose.yaml',
];

/** Files that compose reads, in the order in which it reads them. */
export interface ProjectFiles {
  /** Compose files in the order of `-f`. */
  composeFiles: readonly TextFile[];
  /** Env files in the order in which compose reads them. The last file that sets a variable takes precedence. */
  envFiles: readonly TextFile[];
  /** Path of the env file to create or extend if no file sets a variable. */
  newEnvFile: string;
  /** Base directory of paths in the files. By default, the directory of the first file. */
  directory?: string;
  /** Readable files that the compose files name in `include` and `extends`. */
  linkedFiles?: readonly TextFile[];
  /** Env files of the included files. */
  linkedEnvFiles?: readonly TextFile[];
  /** Variables from outside the files, such as COMPOSE_PROJECT_NAME and HOME, which take precedence over env files. */
  given?: Readonly<Record<string, string>>;
}

const lists = ['composeFiles', 'envFiles', 'linkedFiles', 'linkedEnvFiles'] as const;

export type FileList = (typeof lists)[number];

/** Returns the base directory of paths in the files; by default the directory of the first file. */
export const projectDirectoryOf = (files: ProjectFiles): string =>
  files.directory ?? dirname(files.composeFiles[0]?.path ?? files.newEnvFile);

/**
 * Returns the name of a file for messages: `compose.yaml`, `parts/compose.yaml`. For a file outside the base directory,
 * the name is only the last part of its path.
 */
export function displayPathOf(files: ProjectFiles, path: string): string {
  const directory = projectDirectoryOf(files);
  return path.startsWith(`${directory}/`) ? relative(directory, path) : basename(path);
}

/** Finds the list of files that contains the file with this path. */
export const listWith = (files: ProjectFiles, path: string): FileList | undefined =>
  lists.find((list) => files[list]?.some((file) => file.path === path));

export const listProjectFiles = (files: ProjectFiles): TextFile[] =>
  lists.flatMap((list) => files[list] ?? []);

/** Returns the env files of the project and of the files that it includes. */
export const listEnvFiles = (files: ProjectFiles): TextFile[] => [
  ...files.envFiles,
  ...(files.linkedEnvFiles ?? []),
];

/** Finds a file of the project by its path. */
export const findProjectFile = (files: ProjectFiles, path: string): TextFile | undefined =>
  listProjectFiles(files).find((file) => file.path === path);

/**
 * Returns the project with this file instead of the file with the same path. If there is none, the file is added to
 * `list`.
 */
export function setProjectFile(
  files: ProjectFiles,
  file: TextFile,
  list: FileList = 'envFiles',
): ProjectFiles {
  const holder = listWith(files, file.path);
  if (holder === undefined) return { ...files, [list]: [...(files[list] ?? []), file] };
  return { ...files, [holder]: files[holder]?.map((old) => (old.path === file.path ? file : old)) };
}

const counters = new WeakMap<TextFile, LineCounter>();

/**
 * Returns the line number of an offset, counted from 1. The offsets of all lines are cached, because large files are
 * queried many times.
 */
export function lineNumberOf(file: TextFile, offset: number): number {
  let counter = counters.get(file);
  if (!counter) {
    counter = new LineCounter();
    for (let at = 0; at >= 0; at = file.text.indexOf('\n', at) + 1 || -1) counter.addNewLine(at);
    counters.set(file, counter);
  }
  return counter.linePos(offset).line;
}

/** Returns the location of an offset for messages: `compose.yaml line 3`. */
export function formatOffsetLocation(file: TextFile, offset: number): string {
  return `${basename(file.path)} line ${lineNumberOf(file, offset)}`;
}
