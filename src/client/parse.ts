import { parseArgs } from 'node:util';
import { type Args, type ClientCommand, CommandUsageError } from './command.ts';
import { names } from './names.ts';

/** The parsed command line. */
export type Typed =
  | { kind: 'run'; command: ClientCommand; args: Args }
  /** Help for one command, or for all commands of a group. */
  | { kind: 'help'; command: ClientCommand | null; group: string }
  | { kind: 'version' };

/** @throws UsageError that lists all mistakes */
export function parseTyped(words: readonly string[], commands: readonly ClientCommand[]): Typed {
  const named = words[0] === 'help' ? [...words.slice(1), '--help'] : words;
  const command = findCommand(named, commands);
  if (command === null) return withoutCommand(named, commands);
  const { args, mistakes, wantsHelp } = readArgs(named.slice(command.name.split(' ').length), command);
  if (wantsHelp) return { kind: 'help', command, group: command.name };
  if (mistakes.length > 0) throw new CommandUsageError(mistakes.join('\n'));
  return { kind: 'run', command, args };
}

/** The command whose name the words begin with. */
export const findCommand = (
  words: readonly string[],
  commands: readonly ClientCommand[],
): ClientCommand | null =>
  commands.find(({ name }) => {
    const parts = name.split(' ');
    return parts.every((part, at) => words[at] === part);
  }) ?? null;

function withoutCommand(words: readonly string[], commands: readonly ClientCommand[]): Typed {
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
    rest[0] === undefined
      ? `No ${names().name} command was specified.`
      : `Unknown command "${words.join(' ')}".`;
  throw new CommandUsageError(`${unknown} Commands: ${known.join(', ')}`);
}

function readArgs(
  words: readonly string[],
  command: ClientCommand,
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
  const list: string[] = [];
  const mistakes: string[] = [];
  const wantsHelp = tokens.some((token) => token.kind === 'option' && token.name === 'help');
  for (const token of tokens) {
    if (token.kind === 'positional') given.push(token.value);
    if (token.kind !== 'option' || token.name === 'help') continue;
    const option = command.options.find(({ name }) => `--${name}` === token.rawName);
    const value = token.value ?? '';
    if (option === undefined) mistakes.push(`Unknown option ${token.rawName}.`);
    else if (Object.hasOwn(options, option.name)) mistakes.push(`--${option.name} was given twice.`);
    else if (option.value === undefined) {
      if (token.value !== undefined) mistakes.push(`--${option.name} takes no value.`);
      options[option.name] = true;
    } else if (value === '' || (!token.inlineValue && /^-./.test(value))) {
      mistakes.push(`--${option.name} requires a value (${option.value}).`);
    } else if (option.choices?.includes(value) === false) {
      mistakes.push(`--${option.name} must be ${option.choices.join(' or ')}, not "${value}".`);
    } else if (option.isList) list.push(value);
    else options[option.name] = value;
  }
  mistakes.push(...wordMistakes(given, command));
  if (end >= 0 && end < words.length - 1) mistakes.push('No arguments are allowed after --.');
  return { args: { options, list, words: given }, mistakes, wantsHelp };
}

function wordMistakes(given: readonly string[], { arguments: wanted = [] }: ClientCommand): string[] {
  const mistakes = wanted.flatMap(({ name, choices, isOptional = false }, at) => {
    const word = given[at];
    if (word === undefined && isOptional) return [];
    if (word === undefined) return [`${name} is missing${choices ? `: ${choices.join(' or ')}` : ''}.`];
    return choices?.includes(word) === false
      ? [`${name} must be ${choices.join(' or ')}, not "${word}".`]
      : [];
  });
  return [...mistakes, ...given.slice(wanted.length).map((word) => `Unexpected argument "${word}".`)];
}
