import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Ends with a slash. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

export const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

/** What people read before they type something, by its path from the root. CHANGELOG.md tells of the past. */
export const documents: readonly string[] = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...readdirSync(`${root}docs`).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
];

const fence = /^```(.*)\n([\s\S]*?)^```$/gm;

/** The cells of every table, with those of its head; a `|` inside code does not part cells. */
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

/** Each piece of inline code, its line ends made spaces. */
export const codeOf = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replace(/\s+/g, ' '));

/** The table whose first column is headed `call` lists what is called, and nothing that a person types. */
const isOfCalls = ({ head }: { head: string[] }): boolean => head[0] === 'call';

/** Names of programs, and no commands. */
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
    // A backtick that is never closed must not turn the rest of the document inside out.
    .split(/\n\n|\|\n/)
    .flatMap(codeOf)
    .filter((code) => !calls.includes(code));
  return [...new Set([...fenced, ...inline].filter(isCommand))];
}
