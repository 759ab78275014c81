import { applyEdits, type Edit } from './edit.ts';
import { assigns, setVariableEdit } from './env-file.ts';
import {
  type FileList,
  fileOf,
  nameOf,
  type ProjectFiles,
  type TextFile,
  withFile,
} from './project-files.ts';

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
export function describeEdit(files: ProjectFiles, { file, line, before, after }: Edit): string {
  const change = before === '' ? `added ${after.trim()}` : `${before} → ${after}`;
  return `${nameOf(files, file)} line ${line}: ${change}`;
}

export function applyTo(draft: Draft, edits: readonly Edit[]): void {
  for (const [path, own] of Map.groupBy(edits, ({ file }) => file)) {
    const text = fileOf(draft.files, path)?.text ?? '';
    replace(
      draft,
      { path, text: applyEdits(text, own) },
      own.map((edit) => describeEdit(draft.files, edit)).join('; '),
    );
  }
}

/** A file that is new is an env file, or the one that `list` says. */
export function replace(draft: Draft, file: TextFile, description: string, list?: FileList): void {
  const earlier = draft.changes.find((change) => change.path === file.path);
  const before = earlier ? earlier.before : (fileOf(draft.files, file.path)?.text ?? null);
  draft.files = withFile(draft.files, file, list);
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
