import { basename } from 'node:path';
import { applyEdits, type Edit } from '../compose/edit.ts';
import { assigns, setVariableEdit } from '../compose/env-file.ts';
import type { ProjectFiles, TextFile } from '../compose/text-file.ts';

/** One file as it was and as it will be. */
export interface Change {
  path: string;
  /** Null where the file is created. */
  before: string | null;
  after: string;
  /** `.env line 4: v1.4.2 → v1.5.0` */
  description: string;
}

/** The project's files with everything changed so far. */
export interface Draft {
  files: ProjectFiles;
  changes: Change[];
  warnings: string[];
}

/** `.env line 4: v1.4.2 → v1.5.0`, `.env line 7: added SVC_VERSION=canary` */
export function describeEdit({ file, line, before, after }: Edit): string {
  const change = before === '' ? `added ${after.trim()}` : `${before} → ${after}`;
  return `${basename(file)} line ${line}: ${change}`;
}

export function applyTo(draft: Draft, edits: readonly Edit[]): void {
  for (const path of new Set(edits.map(({ file }) => file))) {
    const own = edits.filter(({ file }) => file === path);
    const holds = (list: FileList) => (draft.files[list] ?? []).some((file) => file.path === path);
    const list = (['composeFiles', 'linkedFiles'] as const).find(holds) ?? 'envFiles';
    const file = (draft.files[list] ?? []).find((candidate) => candidate.path === path);
    const description = own.map(describeEdit).join('; ');
    const earlier = draft.changes.find((change) => change.path === path);
    const before = earlier ? earlier.before : (file?.text ?? null);
    replace(draft, list, { path, text: applyEdits(file?.text ?? '', own) }, before, description);
  }
}

export type FileList = 'composeFiles' | 'envFiles' | 'linkedFiles';

export function replace(
  draft: Draft,
  list: FileList,
  file: TextFile,
  before: string | null,
  description: string,
): void {
  const files = draft.files[list] ?? [];
  const there = files.some(({ path }) => path === file.path);
  const next = there ? files.map((old) => (old.path === file.path ? file : old)) : [...files, file];
  draft.files = { ...draft.files, [list]: next };
  const earlier = draft.changes.find((change) => change.path === file.path);
  draft.changes = [
    ...draft.changes.filter((change) => change !== earlier),
    {
      path: file.path,
      before,
      after: file.text,
      description: earlier ? `${earlier.description}; ${description}` : description,
    },
  ];
}

/** Where the variable is set today, else in the last env file that compose reads. */
export function setVersion(draft: Draft, variable: string, value: string): void {
  const { envFiles, newEnvFile } = draft.files;
  const holder = envFiles.findLast((file) => assigns(file, variable)) ??
    envFiles.at(-1) ?? { path: newEnvFile, text: '' };
  const edit = setVariableEdit(holder, variable, value);
  if (edit.before === edit.after) return;
  applyTo(draft, [edit]);
}
