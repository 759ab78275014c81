import { basename } from 'node:path';
import { UpdateError } from '../progress/update-error.ts';
import type { Edit } from './edit.ts';
import { lineAt, type TextFile } from './text-file.ts';

/** One `KEY=value` of an env file. */
export interface Assignment {
  key: string;
  line: number;
  /** Offsets of the value's own text: between the quotes, without an inline comment. */
  start: number;
  end: number;
  quote: '' | "'" | '"';
}

// What Go calls a space within a line; only a line feed ends one.
const blanks = /[\t\v\f\r \u0085\u00a0]*/y;
// A byte order mark counts as a space here.
const spaceOrComment = /[\s\u0085]+|#[^\n]*/y;
const exportWord = /export[\s\u0085]+/y;
const keyText = /[^=:\n]*/y;
const restOfLine = /[^\n]*/y;

/**
 * The assignments of an env file, read as compose reads it (compose-go, dotenv/parser.go), in order; a name alone
 * assigns nothing.
 * @throws UpdateError compose-invalid: one bad line fails the whole file in compose too
 */
export function findAssignments(text: string, name = '.env'): Assignment[] {
  const found: Assignment[] = [];
  let line = 1;
  let counted = 0;
  let at = 0;
  for (;;) {
    for (let length = -1; length !== 0; at += length) length = matched(spaceOrComment, at).length;
    if (at >= text.length) return found;
    line += newlines(counted, at);
    counted = at;
    at += matched(exportWord, at).length;
    at += matched(blanks, at).length;
    const raw = matched(keyText, at);
    const key = checkedKey(raw);
    at += raw.length;
    if (at >= text.length || text[at] === '\n') continue;
    at += 1;
    at += matched(blanks, at).length;
    const value = valueAt(at);
    found.push({ key, line, ...value });
    at = value.quote === '' ? value.start + matched(restOfLine, value.start).length : value.end + 1;
  }

  function valueAt(start: number): Pick<Assignment, 'start' | 'end' | 'quote'> {
    const quote = text[start];
    if (quote !== '"' && quote !== "'") {
      const [value = ''] = matched(restOfLine, start).split(' #', 1);
      return { start, end: start + value.replace(/[\s\u0085]+$/, '').length, quote: '' };
    }
    for (let i = start + 1; i < text.length; i += 1) {
      if (text[i] === '\\') i += 1;
      else if (text[i] === quote) return { start: start + 1, end: i, quote };
    }
    throw invalid('a quoted value has no end');
  }

  function checkedKey(raw: string): string {
    const key = raw.trimEnd();
    const odd = /[^\p{L}\p{N}_.\-[\]\s]/u.exec(key)?.[0];
    if (odd !== undefined) throw invalid(`unexpected ${JSON.stringify(odd)} in the name of a variable`);
    if (key.includes(' ')) throw invalid('the name of a variable has a space in it');
    return key;
  }

  function matched(form: RegExp, from: number): string {
    form.lastIndex = from;
    return form.exec(text)?.[0] ?? '';
  }

  function newlines(from: number, to: number): number {
    let count = 0;
    for (let i = text.indexOf('\n', from); i >= 0 && i < to; i = text.indexOf('\n', i + 1)) count += 1;
    return count;
  }

  function invalid(message: string): UpdateError {
    return new UpdateError('compose-invalid', `${name} line ${line}: ${message}`);
  }
}

/** Whether the file gives the variable a value, be it an empty one. */
export function assigns(file: TextFile, key: string): boolean {
  return findAssignments(file.text, basename(file.path)).some((assignment) => assignment.key === key);
}

/** The edit that gives a variable its value: in the last place that assigns it, else in a new last line. */
export function setVariableEdit(file: TextFile, key: string, value: string): Edit {
  // Anything else would need quotes, and the kind of quotes depends on what stands around.
  if (!/^[A-Za-z0-9._/:@+-]*$/.test(value)) throw new RangeError(`${key}: a value that needs quotes`);
  const { path, text } = file;
  const last = findAssignments(text, basename(path)).findLast((assignment) => assignment.key === key);
  if (last) {
    const { line, start, end } = last;
    return { file: path, line, start, end, before: text.slice(start, end), after: value, variable: key };
  }
  const at = text.length;
  const lineEnd = text[text.lastIndexOf('\n') - 1] === '\r' ? '\r\n' : '\n';
  const isLineStart = text === '' || text === '\ufeff' || text.endsWith('\n');
  return {
    file: path,
    line: lineAt(file, at) + (isLineStart ? 0 : 1),
    start: at,
    end: at,
    before: '',
    after: `${isLineStart ? '' : lineEnd}${key}=${value}${lineEnd}`,
    variable: key,
  };
}
