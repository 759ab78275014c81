import { stripVTControlCharacters } from 'node:util';

const colored = process.stdout.isTTY && !process.env.NO_COLOR;
const paint = (code: number) => (text: string) => (colored ? `\u001b[${code}m${text}\u001b[0m` : text);
export const bold = paint(1);
const dim = paint(2);

export function say(...lines: string[]): void {
  for (const line of lines) console.log(line);
}

export function heading(text: string): void {
  say('', bold(text), '');
}

export function command(text: string): void {
  say(`${dim('$')} ${bold(text)}`);
}

export function table(rows: string[][]): void {
  const width = (text: string) => stripVTControlCharacters(text).length;
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => width(cells[column] ?? ''))),
  );
  for (const cells of rows) {
    const padded = cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)));
    say(`  ${padded.join('  ').trimEnd()}`);
  }
}
