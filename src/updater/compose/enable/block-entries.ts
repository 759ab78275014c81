import { isCollection, isMap, isPair, isScalar, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import { createTextEdit, type TextEdit } from '../../../core/compose/edit.ts';
import type { TextFile } from '../../../core/files/text-file.ts';

/** A mapping or list in block style, whose entries are on lines of their own. */
export type BlockCollection = YAMLMap | YAMLSeq;

export const isBlock = (node: unknown): node is BlockCollection =>
  isCollection(node) && node.flow !== true && node.items.length > 0 && (isMap(node) || isSeq(node));

/** Returns the value of a mapping's own key; undefined if the key is missing, or comes only from a merge key. */
export function ownValueOf(map: unknown, key: string): unknown {
  return isMap(map) ? map.items.find((pair) => keyTextOf(pair.key) === key)?.value : undefined;
}

const keyTextOf = (key: unknown): string | null => (isScalar(key) ? String(key.value) : null);

/** Returns the number of spaces before the first entry. Null if other text precedes it on its line. */
export function indentOf({ text }: TextFile, block: BlockCollection): number | null {
  const start = lineStartOf(text, startOf(block.items[0]));
  const [spaces = '', dash] = /^ *(- )?/.exec(text.slice(start, startOf(block.items[0]))) ?? [];
  if (isSeq(block)) return dash === undefined ? null : spaces.length - dash.length;
  return start + spaces.length === startOf(block.items[0]) && dash === undefined ? spaces.length : null;
}

/** Adds lines after the last line of a collection, before the comments that follow it. */
export const addLinesAfter = (file: TextFile, node: unknown, lines: readonly string[]): TextEdit =>
  createLineInsertion(file, lineEndAfter(file.text, endOf(node)), lines);

export const appendLines = (file: TextFile, lines: readonly string[]): TextEdit =>
  createLineInsertion(file, file.text.length, lines);

function createLineInsertion(file: TextFile, start: number, lines: readonly string[]): TextEdit {
  const { text } = file;
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const isOnNewLine = start === 0 || text[start - 1] === '\n';
  const added = lines.map((line) => (isOnNewLine ? `${line}${lineEnd}` : `${lineEnd}${line}`)).join('');
  return createTextEdit(file, { start, end: start }, added);
}

/**
 * Removes the lines of an entry: the last name of `path`. A list entry is `NAME` or `NAME=value`. If a
 * collection would become empty, it is removed instead. Null if there is no such entry.
 */
export function removeEntry(file: TextFile, root: unknown, path: readonly string[]): TextEdit | null {
  let node = root;
  let removed: unknown = null;
  for (const name of path) {
    if (!isBlock(node)) return null;
    const entry = isMap(node)
      ? node.items.find((pair) => keyTextOf(pair.key) === name)
      : node.items.find((item) => isScalar(item) && String(item.value).split('=')[0] === name);
    if (entry === undefined) return null;
    if (node.items.length > 1 || removed === null) removed = entry;
    node = isPair(entry) ? entry.value : null;
  }
  const [start, end] = [lineStartOf(file.text, startOf(removed)), lineEndAfter(file.text, endOf(removed))];
  return createTextEdit(file, { start, end }, '');
}

const rangeOf = (node: unknown) => (node as Node | null | undefined)?.range ?? null;

const startOf = (entry: unknown): number => rangeOf(isPair(entry) ? entry.key : entry)?.[0] ?? 0;

/** Returns the end of the last text of a node, without the comments and blank lines after it. */
function endOf(node: unknown): number {
  if (isPair(node)) return rangeOf(node.value) === null ? endOf(node.key) : endOf(node.value);
  if (isBlock(node)) return endOf(node.items.at(-1));
  return rangeOf(node)?.[1] ?? 0;
}

const lineStartOf = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1;

function lineEndAfter(text: string, offset: number): number {
  if (text[offset - 1] === '\n') return offset;
  const at = text.indexOf('\n', offset);
  return at < 0 ? text.length : at + 1;
}
