import { escapeUnprintable, mapJsonStrings } from '../../core/text/plain-text.ts';
import { formatMessageSentence } from '../../wire/texts/messages.ts';
import { getProductNames } from '../command-line/product-names.ts';

/** Makes untrusted text safe to print on a terminal. */
export const escapeControlCharacters = (text: string): string => escapeUnprintable(text.toWellFormed());

export const escapeResponseTexts = <T>(value: T): T => mapJsonStrings(value, escapeControlCharacters);

/** Formats a value as one line of JSON that is safe to print on a terminal. */
export const formatJsonLine = (value: unknown): string => `${escapeUnprintable(JSON.stringify(value))}\n`;

export const joinLines = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

/** Formats a message from the server as a sentence. */
export const formatServerMessage = (message: string): string =>
  formatMessageSentence(message, getProductNames().name);

/** Formats a count with a noun: `1 job`, `2 jobs`. */
export const formatCountedNoun = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? '' : 's'}`;

const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u;
const none = /^[\p{Mn}\p{Me}\p{Cf}]$/u;

/** Returns the width of a character in terminal columns. */
function widthOfOne(character: string): number {
  if (none.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** Returns the width in terminal columns. The text must not contain escape codes. */
export const measureTextWidth = (text: string): number =>
  [...text].reduce((sum, character) => sum + widthOfOne(character), 0);

/** If the text is wider than `columns`, truncates the text and ends it with `…`. */
export function truncateText(text: string, columns: number): string {
  if (measureTextWidth(text) <= columns) return text;
  let width = 0;
  let kept = '';
  for (const character of text) {
    width += widthOfOne(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return columns < 1 ? '' : `${kept.trimEnd()}…`;
}

/** Truncates the text, or pads it with spaces, to a width of exactly `columns`. */
export const fitTextToColumns = (text: string, columns: number): string => {
  const kept = truncateText(text, columns);
  return kept + ' '.repeat(Math.max(0, columns - measureTextWidth(kept)));
};

/** Breaks lines only between words. A word that is longer than a line gets its own line. */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (measureTextWidth(longer) <= columns || line === '') line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

export function formatTable(rows: readonly (readonly string[])[], indent = '  '): string[] {
  const widest = (at: number) => Math.max(...rows.map((row) => measureTextWidth(row[at] ?? '')));
  return rows.map((row) =>
    (indent + row.map((cell, at) => fitTextToColumns(cell, widest(at))).join('  ')).trimEnd(),
  );
}
