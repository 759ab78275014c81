import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Ends with a slash. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

export const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

/** Documents with commands, by path from the root. CHANGELOG.md is excluded because it describes the past. */
export const documents: readonly string[] = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...readdirSync(`${root}docs`).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
];

const fence = /^```(.*)\n([\s\S]*?)^```$/gm;

/** The cells and headings of every table; a `|` inside code does not separate cells. */
export function tablesOf(text: string): { head: string[]; rows: string[][] }[] {
  return [...text.replace(fence, '').matchAll(/^\|.*\n\|[ :|-]+\|\n(?:\|.*\n?)*/gm)].map(([table]) => {
    const [head = [], , ...rows] = table.trim().split('\n').map(cellsOf);
    return { head, rows };
  });
}

const cellsOf = (row: string): string[] =>
  row
    .replace(/`[^`]*`/g, (code) => code.replaceAll('|', '\0'))
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.replaceAll('\0', '|').trim());

/** All inline code, with line breaks replaced by spaces. */
export const codeOf = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replace(/\s+/g, ' '));

/** A table with the first column `call` lists calls of the updater, not commands. */
const isOfCalls = ({ head }: { head: string[] }): boolean => head[0] === 'call';

/** Names of programs that are not commands. */
const names = new Set(['docker', 'docker compose', 'node', 'npm', 'git', 'curl', 'svc', 'svc-updater']);
const form = /^(?:scripts\/[a-z-]+|docker|npm|npx|node|git|curl|svc|svc-updater)(?= |$)/;

const isCommand = (code: string): boolean => form.test(code) && !names.has(code);

/** Every command that a document shows, in fenced blocks, in tables and in running text. */
export function commandsOf(text: string): string[] {
  const fenced = [...text.matchAll(fence)]
    .filter(([, language]) => language === '')
    .flatMap(([, , block = '']) => block.replace(/\\\n\s*/g, '').split('\n'))
    .map((line) => line.replace(/ +# .*/, '').trim());
  const calls = tablesOf(text)
    .filter(isOfCalls)
    .flatMap(({ rows }) => rows.flatMap(([call = '']) => codeOf(call)));
  const inline = text
    .replace(fence, '')
    // A backtick that is never closed must not affect the rest of the document.
    .split(/\n\n|\|\n/)
    .flatMap(codeOf)
    .filter((code) => !calls.includes(code));
  return [...new Set([...fenced, ...inline].filter(isCommand))];
}
