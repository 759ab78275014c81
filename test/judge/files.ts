import { difference } from '../rig/difference.ts';
import type { FileState } from '../rig/snapshot.ts';
import { differs } from './differs.ts';

/** A compose directory by relative path. */
export type Files = Readonly<Record<string, FileState>>;

/** The exact new text, or a function of the old text; null for a removed file. */
export type NewText = string | null | ((before: string) => string);
/** Changed files, by path in the compose directory. */
export type Changes = Readonly<Record<string, NewText>>;

/** Modes and owners are unchanged; a new file belongs to root and has mode 600 unless `newMode` is set. */
export function changeFiles(before: Files, changes: Changes = {}, newMode = '600'): Files {
  const files: Record<string, FileState> = { ...before };
  for (const [path, change] of Object.entries(changes)) {
    const old = before[path];
    if (change === null) {
      delete files[path];
      continue;
    }
    const text = typeof change === 'function' ? change(old?.text ?? '') : change;
    if (text === old?.text) {
      throw new Error(`the test says that ${path} changes, and gives it the text that it had`);
    }
    files[path] = old ? { ...old, text } : { kind: 'file', mode: newMode, owner: '0:0', text };
  }
  return files;
}

export const judgeFiles = (expected: Files, found: Files): string[] => differs('files', expected, found);

/** All files together are in one of these states; the states have names, such as `the old ones`. */
export function judgeFilesTogether(states: Readonly<Record<string, Files>>, found: Files): string[] {
  const facts = Object.entries(states).map(([name, files]) =>
    differs(`files, held against ${name}`, files, found),
  );
  return facts.some((each) => each.length === 0) ? [] : facts.flat();
}

/** Each file on its own is in one of these states. Additional files are ignored. */
export function judgeEachFile(states: readonly Files[], found: Files): string[] {
  const paths = new Set(states.flatMap((files) => Object.keys(files)));
  return [...paths]
    .filter((path) => states.every((files) => difference(files[path], found[path]) !== undefined))
    .map((path) => `${path} is neither the old nor the new one: ${JSON.stringify(found[path])}`);
}
