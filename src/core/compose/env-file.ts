import { UpdateError } from '../errors/update-error.ts';
import type { TextFile } from '../files/text-file.ts';
import { createTextEdit, type TextEdit } from './edit.ts';
import { formatOffsetLocation, type ProjectFiles } from './project-files.ts';

export interface EnvAssignment {
  key: string;
  /** Offsets of the value, excluding its quotes and an inline comment. */
  start: number;
  end: number;
  quote: '' | "'" | '"';
}

// Whitespace within a line, as compose's Go parser defines it. Only a line feed ends a line.
const blanks = /[\t\v\f\r \u0085\u00a0]*/y;
// All space characters of Go. JavaScript uses a different set.
const spaces = '[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const aSpace = new RegExp(spaces);
const spaceOrComment = new RegExp(`${spaces}+|#[^\\n]*`, 'y');
const exportWord = /export(?=[\t\n\f\r ])/y;
const keyText = /[^=:\n]*/y;
const restOfLine = /[^\n]*/y;

/**
 * Parses an env file as compose does (compose-go, dotenv/parser.go). A name without `=` assigns nothing.
 * @throws UpdateError compose-invalid: one invalid line invalidates the whole file, as in compose
 */
export function parseEnvAssignments(file: TextFile): EnvAssignment[] {
  const { text } = file;
  const found: EnvAssignment[] = [];
  let begin = 0;
  let at = text.startsWith('\ufeff') ? 1 : 0;
  for (;;) {
    for (let length = -1; length !== 0; at += length) length = matched(spaceOrComment, at).length;
    if (at >= text.length) return found;
    begin = at;
    const word = matched(exportWord, at);
    at += word.length;
    at += matched(blanks, at).length;
    if (word && at >= text.length) throw invalid('there is no variable name after export');
    const nameEnd = at + matched(keyText, at).length;
    const key = checkedKey(at, nameEnd);
    at = nameEnd;
    // Compose does not reject a name with spaces if the file ends after the name.
    if (at >= text.length) return found;
    if (key.includes(' ')) throw invalid('a variable name contains a space');
    if (text[at] === '\n') continue;
    at += 1;
    at += matched(blanks, at).length;
    const value = valueAt(at);
    found.push({ key, ...value });
    at = value.quote === '' ? value.start + matched(restOfLine, value.start).length : value.end + 1;
  }

  function valueAt(start: number): Pick<EnvAssignment, 'start' | 'end' | 'quote'> {
    const quote = text[start];
    if (quote !== '"' && quote !== "'") {
      const rest = matched(restOfLine, start);
      const comment = rest.indexOf(' #');
      return { start, end: trimmedEnd(start, start + (comment < 0 ? rest.length : comment)), quote: '' };
    }
    for (let i = start + 1; i < text.length; i += 1) {
      if (text[i] === '\\') i += 1;
      else if (text[i] === quote) return { start: start + 1, end: i, quote };
    }
    throw invalid('a quoted value has no closing quote');
  }

  function checkedKey(start: number, end: number): string {
    const key = text.slice(start, end);
    const odd = /[^\p{L}\p{N}_.\-[\]\t\v\f\r \u0085\u00a0]/u.exec(key)?.[0];
    if (odd !== undefined) throw invalid(`unexpected ${JSON.stringify(odd)} in a variable name`);
    return text.slice(start, trimmedEnd(start, end));
  }

  function trimmedEnd(start: number, end: number): number {
    let last = end;
    while (last > start && aSpace.test(text.charAt(last - 1))) last -= 1;
    return last;
  }

  function matched(form: RegExp, from: number): string {
    form.lastIndex = from;
    return form.exec(text)?.[0] ?? '';
  }

  function invalid(message: string): UpdateError {
    return new UpdateError('compose-invalid', `${formatOffsetLocation(file, begin)}: ${message}`);
  }
}

/**
 * Creates an edit that changes the last assignment of a variable, even if the assigned value is empty. If nothing
 * assigns the variable, the edit appends an assignment to the last env file.
 * @param value - any single line of text, which is quoted if necessary
 */
export function createVariableEdit(
  { envFiles, newEnvFile }: Pick<ProjectFiles, 'envFiles' | 'newEnvFile'>,
  key: string,
  value: string,
): TextEdit {
  const isPlain = /^[A-Za-z0-9._/:@+-]+$/.test(value);
  const written = isPlain ? value : quoted(value);
  for (const file of envFiles.toReversed()) {
    const last = parseEnvAssignments(file).findLast((each) => each.key === key);
    if (!last) continue;
    const quotes = isPlain ? 0 : last.quote.length;
    return createTextEdit(file, { start: last.start - quotes, end: last.end + quotes }, written, key);
  }
  const file = envFiles.at(-1) ?? { path: newEnvFile, text: '' };
  const { text } = file;
  const lineEnd = text[text.lastIndexOf('\n') - 1] === '\r' ? '\r\n' : '\n';
  const isLineStart = text === '' || text === '\ufeff' || text.endsWith('\n');
  const added = `${isLineStart ? '' : lineEnd}${key}=${written}${lineEnd}`;
  const edit = createTextEdit(file, { start: text.length, end: text.length }, added, key);
  return { ...edit, line: edit.line + (isLineStart ? 0 : 1) };
}

/** Prefers single quotes, within which only a backslash before a quote is special. */
const quoted = (value: string): string =>
  /'|\\$/.test(value) ? `"${value.replaceAll(/["\\$]/g, '\\$&')}"` : `'${value}'`;
