import type { TextFile } from '../files/text-file.ts';
import { applyTextEdits, type TextEdit } from './edit.ts';
import { createVariableEdit } from './env-file.ts';
import {
  displayPathOf,
  findProjectFile,
  type ProjectFileListKey,
  type ProjectFiles,
  setProjectFile,
} from './project-files.ts';

export interface FileChange {
  path: string;
  /** Previous text; null if the change creates the file. */
  before: string | null;
  after: string;
  /** Description for users: `.env line 4: v1.4.2 → v1.5.0` */
  description: string;
}

/** Project files with all planned changes, which have not been written to disk yet. */
export interface ProjectDraft {
  files: ProjectFiles;
  changes: readonly FileChange[];
}

export const createDraft = (files: ProjectFiles): ProjectDraft => ({ files, changes: [] });

/** Applies the edits to the draft. A file that is not in the draft yet is added to the env files of the draft. */
export function applyEditsToDraft(draft: ProjectDraft, edits: readonly TextEdit[]): ProjectDraft {
  return [...Map.groupBy(edits, ({ file }) => file)].reduce((before, [path, own]) => {
    const text = applyTextEdits(findProjectFile(before.files, path)?.text ?? '', own);
    const description = own.map((edit) => describeEdit(before.files, edit)).join('; ');
    return setDraftFileText(before, { path, text }, description);
  }, draft);
}

/** Replaces a file in the draft. A file that is not in the draft yet is added to `list`. */
export function setDraftFileText(
  draft: ProjectDraft,
  file: TextFile,
  description: string,
  list?: ProjectFileListKey,
): ProjectDraft {
  const { files, changes } = draft;
  const previous = changes.find(({ path }) => path === file.path);
  const change = {
    path: file.path,
    before: previous ? previous.before : (findProjectFile(files, file.path)?.text ?? null),
    after: file.text,
    description: previous ? `${previous.description}; ${description}` : description,
  };
  return {
    files: setProjectFile(files, file, list),
    changes: [...changes.filter((other) => other !== previous), change],
  };
}

/** Changes the last assignment of the variable, or adds an assignment to the last env file. */
export function setDraftVariable(draft: ProjectDraft, variable: string, value: string): ProjectDraft {
  const edit = createVariableEdit(draft.files, variable, value);
  return edit.before === edit.after ? draft : applyEditsToDraft(draft, [edit]);
}

/** Text for users: `.env line 4: v1.4.2 → v1.5.0`, `.env line 7: added SVC_VERSION=canary` */
export function describeEdit(files: ProjectFiles, { file, line, before, after, words }: TextEdit): string {
  const change = words ?? (before === '' ? `added ${after.trim()}` : `${before} → ${after}`);
  return `${displayPathOf(files, file)} line ${line}: ${change}`;
}
