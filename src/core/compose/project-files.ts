import { basename, dirname, relative } from 'node:path';
import { LineCounter } from 'yaml';
import type { TextFile } from '../files/text-file.ts';

/** The files that compose finds on its own, in its order of preference (compose-go, cli/options.go). */
export const defaultNames = ['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml'];

/** The files that compose reads, in its order. */
export interface ProjectFiles {
  /** In the order of `-f`. */
  composeFiles: readonly TextFile[];
  /** In order; the last that sets a variable wins. */
  envFiles: readonly TextFile[];
  /** The env file to create, or to append to, where a variable is set nowhere. */
  newEnvFile: string;
  /** The base directory of paths in them; default: the directory of the first file. */
  directory?: string;
  /** Files in `include` and `extends` that could be read. */
  linkedFiles?: readonly TextFile[];
  /** Env files that included files have of their own. */
  linkedEnvFiles?: readonly TextFile[];
  /** Values that compose has from elsewhere (COMPOSE_PROJECT_NAME, HOME); they win over env files. */
  given?: Readonly<Record<string, string>>;
}

const lists = ['composeFiles', 'envFiles', 'linkedFiles', 'linkedEnvFiles'] as const;

export type FileList = (typeof lists)[number];

/** The base directory of paths in the files; by default the directory of the first file. */
export const directoryOf = (files: ProjectFiles): string =>
  files.directory ?? dirname(files.composeFiles[0]?.path ?? files.newEnvFile);

/** A file's name for people: `compose.yaml`, `parts/compose.yaml`; only the last part if it is in another directory. */
export function nameOf(files: ProjectFiles, path: string): string {
  const directory = directoryOf(files);
  return path.startsWith(`${directory}/`) ? relative(directory, path) : basename(path);
}

/** The list that holds the file of this path. */
export const listWith = (files: ProjectFiles, path: string): FileList | undefined =>
  lists.find((list) => files[list]?.some((file) => file.path === path));

export const allFiles = (files: ProjectFiles): TextFile[] => lists.flatMap((list) => files[list] ?? []);

/** The env files of the project and those of the files that it includes. */
export const allEnvFiles = (files: ProjectFiles): TextFile[] => [
  ...files.envFiles,
  ...(files.linkedEnvFiles ?? []),
];

/** A file of the project by its path. */
export const fileOf = (files: ProjectFiles, path: string): TextFile | undefined =>
  allFiles(files).find((file) => file.path === path);

/** The project with this text in place of the file of the same path; a file that is new goes to `list`. */
export function withFile(files: ProjectFiles, file: TextFile, list: FileList = 'envFiles'): ProjectFiles {
  const holder = listWith(files, file.path);
  if (holder === undefined) return { ...files, [list]: [...(files[list] ?? []), file] };
  return { ...files, [holder]: files[holder]?.map((old) => (old.path === file.path ? file : old)) };
}

const counters = new WeakMap<TextFile, LineCounter>();

/** The line, counted from 1, of an offset; a large file is asked many times, and counted once. */
export function lineAt(file: TextFile, offset: number): number {
  let counter = counters.get(file);
  if (!counter) {
    counter = new LineCounter();
    for (let at = 0; at >= 0; at = file.text.indexOf('\n', at) + 1 || -1) counter.addNewLine(at);
    counters.set(file, counter);
  }
  return counter.linePos(offset).line;
}

/** Where something is, for people: `compose.yaml line 3`. */
export function placeAt(file: TextFile, offset: number): string {
  return `${basename(file.path)} line ${lineAt(file, offset)}`;
}
