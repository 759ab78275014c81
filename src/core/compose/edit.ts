import { basename } from 'node:path';
import { UpdateError } from '../errors/update-error.ts';
import type { TextFile } from '../files/text-file.ts';
import { lineNumberOf } from './project-files.ts';

/** Replacement of the text between two offsets of a file. */
export interface TextEdit {
  /** Path of the file. */
  file: string;
  line: number;
  /** Offsets in the file's text; `start` equals `end` for an insertion. */
  start: number;
  end: number;
  before: string;
  after: string;
  /** Variable whose value the edit changes, if any. */
  variable?: string | undefined;
  /** Description shown to users instead of the old and new text, which may be secret. */
  words?: string;
}

export function createTextEdit(
  file: TextFile,
  { start, end }: Pick<TextEdit, 'start' | 'end'>,
  after: string,
  variable?: string,
): TextEdit {
  const before = file.text.slice(start, end);
  return { file: file.path, line: lineNumberOf(file, start), start, end, before, after, variable };
}

/**
 * Applies edits to a text. Several insertions at the same offset keep their order.
 * @throws UpdateError file-changed if the text has changed since the edits were planned
 */
export function applyTextEdits(text: string, edits: readonly TextEdit[]): string {
  const sorted = edits.toSorted((a, b) => a.start - b.start || a.end - b.end);
  const parts: string[] = [];
  let done = 0;
  for (const { file, line, start, end, before, after } of sorted) {
    if (start < done) throw new RangeError(`edits of ${file} overlap at line ${line}`);
    if (end > text.length || text.slice(start, end) !== before) {
      throw new UpdateError(
        'file-changed',
        `${basename(file)} line ${line} was changed after the update was planned`,
      );
    }
    parts.push(text.slice(done, start), after);
    done = end;
  }
  parts.push(text.slice(done));
  return parts.join('');
}
