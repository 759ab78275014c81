import { parseArgs } from 'node:util';
import { type Args, type Command, UsageError } from './command.ts';
import { names } from './names.ts';

/** What somebody has typed. */
export type Typed =
  | { kind: 'run'; command: Command; args: Args }
  /** Help is wanted: of one command, or of all that begin so. */
  | { kind: 'help'; command: Command | null; group: string }
  | { kind: 'version' };

/** @throws UsageError that names every mistake */
export function parseTyped(words: readonly string[], commands: readonly Command[]): Typed {
  const named = words[0] === 'help' ? [...words.slice(1), '--help'] : words;
  const command = findCommand(named, commands);
  if (command === null) return withoutCommand(named, commands);
  const { args, mistakes, wantsHelp } = readArgs(named.slice(command.name.split(' ').length), command);
  if (wantsHelp) return { kind: 'help', command, group: command.name };
  if (mistakes.length > 0) throw new UsageError(mistakes.join('\n'));
  return { kind: 'run', command, args };
}

/** The command whose name the words begin with. */
export const findCommand = (words: readonly string[], commands: readonly Command[]): Command | null =>
  commands.find(({ name }) => {
    const parts = name.split(' ');
    return parts.every((part, at) => words[at] === part);
  }) ?? null;

function withoutCommand(words: readonly string[], commands: readonly Command[]): Typed {
  const [first = ''] = words;
  const group = commands.some(({ name }) => name.startsWith(`${first} `)) ? first : '';
  const rest = group === '' ? words : words.slice(1);
  if (rest.includes('--help') || rest.includes('-h') || rest[0] === 'help')
    return { kind: 'help', command: null, group };
  if (group === '' && (first === '--version' || first === '-V')) return { kind: 'version' };
  const known = commands
    .map(({ name }) => name)
    .filter((name) => group === '' || name.startsWith(`${group} `));
  const unknown =
    rest[0] === undefined ? `What should ${names().name} do?` : `There is no command "${words.join(' ')}".`;
  const meant = rest[0] === undefined ? null : nearestCommand(words, known);
  throw new UsageError(
    `${unknown} ${meant === null ? '' : `Is it ${names().name} ${meant}? `}There are: ${known.join(', ')}`,
  );
}

/** Each of its words has to be near; one without its group (`status`) is meant, too. */
function nearestCommand(words: readonly string[], known: readonly string[]): string | null {
  const isNear = (parts: readonly string[]) =>
    parts.every((part, at) => nearest(words[at] ?? '', [part]) !== null);
  return (
    known.find((name) => isNear(name.split(' '))) ??
    known.find((name) => name.includes(' ') && isNear(name.split(' ').slice(1))) ??
    nearest(words[0] ?? '', ['--version', '--help'])
  );
}

function readArgs(
  words: readonly string[],
  command: Command,
): { args: Args; mistakes: string[]; wantsHelp: boolean } {
  const end = words.indexOf('--');
  const own = end < 0 ? words : words.slice(0, end);
  const { tokens } = parseArgs({
    args: [...own],
    options: {
      help: { type: 'boolean', short: 'h' },
      ...Object.fromEntries(
        command.options.map(({ name, value }) => [name, { type: value ? 'string' : 'boolean' }] as const),
      ),
    },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const options: Record<string, string | true> = {};
  const given: string[] = [];
  const mistakes: string[] = [];
  const wantsHelp = tokens.some((token) => token.kind === 'option' && token.name === 'help');
  for (const token of tokens) {
    if (token.kind === 'positional') given.push(token.value);
    if (token.kind !== 'option' || token.name === 'help') continue;
    const option = command.options.find(({ name }) => `--${name}` === token.rawName);
    const value = token.value ?? '';
    if (option === undefined) mistakes.push(noOption(token.rawName, command, words));
    else if (Object.hasOwn(options, option.name)) mistakes.push(`--${option.name} is given twice.`);
    else if (option.value === undefined) {
      if (token.value !== undefined) mistakes.push(`--${option.name} takes no value.`);
      options[option.name] = true;
    } else if (value === '' || (!token.inlineValue && value.startsWith('-'))) {
      mistakes.push(`--${option.name} needs ${option.value}.`);
    } else if (option.choices?.includes(value) === false) {
      mistakes.push(`--${option.name} is ${option.choices.join(' or ')}, not "${value}".`);
    } else options[option.name] = value;
  }
  mistakes.push(...wordMistakes(given, command));
  if (end >= 0 && end < words.length - 1) mistakes.push('Nothing may stand behind --.');
  return { args: { options, words: given }, mistakes, wantsHelp };
}

function noOption(typed: string, { options }: Command, words: readonly string[]): string {
  const others = options.map(({ name }) => `--${name}`);
  const meant = nearest(
    typed,
    others.filter((other) => !words.some((word) => word.split('=')[0] === other)),
  );
  return `There is no option ${typed}.${meant === null ? '' : ` Is it ${meant}?`}`;
}

function wordMistakes(given: readonly string[], { arguments: wanted = [] }: Command): string[] {
  const mistakes = wanted.flatMap(({ name, choices, isOptional = false }, at) => {
    const word = given[at];
    if (word === undefined && isOptional) return [];
    if (word === undefined) return [`${name} is missing${choices ? `: ${choices.join(' or ')}` : ''}.`];
    return choices?.includes(word) === false ? [`${name} is ${choices.join(' or ')}, not "${word}".`] : [];
  });
  return [...mistakes, ...given.slice(wanted.length).map((word) => `"${word}" is one word too many.`)];
}

/** The known word that is nearest to a mistyped one; null where none is near. */
function nearest(typed: string, words: readonly string[]): string | null {
  const [best] = words
    .map((word) => ({ word, far: distance(typed.toLowerCase(), word) }))
    .filter(({ word, far }) => far <= Math.max(1, Math.floor(Math.min(typed.length, word.length) / 3)))
    .sort((a, b) => a.far - b.far);
  return best?.word ?? null;
}

/** How many letters have to be put in, left out, changed, or changed with the one beside them. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const least = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (isSame ? 0 : 1));
      rows[i]?.push(isSwapped ? Math.min(least, at(i - 2, j - 2) + 1) : least);
    }
  }
  return at(a.length, b.length);
}
