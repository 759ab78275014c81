import type { TextFile } from '../files/text-file.ts';
import { applyEdits, type Edit } from './edit.ts';
import { setVariableEdit } from './env-file.ts';
import { type FileList, fileOf, nameOf, type ProjectFiles, withFile } from './project-files.ts';

/** One file as it was and as it will be. */
export interface Change {
  path: string;
  /** Null where the file is created. */
  before: string | null;
  after: string;
  /** `.env line 4: v1.4.2 → v1.5.0` */
  description: string;
}

/** The project's files with all changes so far, which are not on disk. */
export interface ProjectDraft {
  files: ProjectFiles;
  changes: readonly Change[];
}

/** A draft without changes. */
export const draftOf = (files: ProjectFiles): ProjectDraft => ({ files, changes: [] });

/** The draft with the edits; a new file is an env file. */
export function withEdits(draft: ProjectDraft, edits: readonly Edit[]): ProjectDraft {
  return [...Map.groupBy(edits, ({ file }) => file)].reduce((before, [path, own]) => {
    const text = applyEdits(fileOf(before.files, path)?.text ?? '', own);
    const description = own.map((edit) => describeEdit(before.files, edit)).join('; ');
    return withText(before, { path, text }, description);
  }, draft);
}

/** The draft with a new text of a file; a new file is added to `list`, by default the env files. */
export function withText(
  draft: ProjectDraft,
  file: TextFile,
  description: string,
  list?: FileList,
): ProjectDraft {
  const { files, changes } = draft;
  const earlier = changes.find(({ path }) => path === file.path);
  const change = {
    path: file.path,
    before: earlier ? earlier.before : (fileOf(files, file.path)?.text ?? null),
    after: file.text,
    description: earlier ? `${earlier.description}; ${description}` : description,
  };
  return {
    files: withFile(files, file, list),
    changes: [...changes.filter((other) => other !== earlier), change],
  };
}

/** The draft with the variable set in its current place, or in the last env file that compose reads. */
export function withVariable(draft: ProjectDraft, variable: string, value: string): ProjectDraft {
  const edit = setVariableEdit(draft.files, variable, value);
  return edit.before === edit.after ? draft : withEdits(draft, [edit]);
}

/** `.env line 4: v1.4.2 → v1.5.0`, `.env line 7: added SVC_VERSION=canary` */
export function describeEdit(files: ProjectFiles, { file, line, before, after, words }: Edit): string {
  const change = words ?? (before === '' ? `added ${after.trim()}` : `${before} → ${after}`);
  return `${nameOf(files, file)} line ${line}: ${change}`;
}
