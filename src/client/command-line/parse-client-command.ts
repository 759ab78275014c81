import {
  type ArgumentMessages,
  describeInvalidValue,
  parseArguments,
} from '../../core/command-line/option-row.ts';
import { type ClientCommand, type CommandArguments, CommandUsageError } from './client-command.ts';
import { getProductNames } from './product-names.ts';

export type ParsedClientCommand =
  | { kind: 'run'; command: ClientCommand; args: CommandArguments }
  /** If `command` is null, the help lists the commands in `group`, or all commands if `group` is empty. */
  | { kind: 'help'; command: ClientCommand | null; group: string }
  | { kind: 'version' };

/** @throws CommandUsageError that lists all mistakes */
export function parseClientCommand(
  words: readonly string[],
  commands: readonly ClientCommand[],
): ParsedClientCommand {
  const named = words[0] === 'help' ? [...words.slice(1), '--help'] : words;
  const command = findCommand(named, commands);
  if (command === null) return parseWithoutCommand(named, commands);
  if (isHelpRequested(named)) return { kind: 'help', command, group: command.name };
  const { args, mistakes } = readArgs(named.slice(command.name.split(' ').length), command);
  if (mistakes.length > 0) throw new CommandUsageError(mistakes.join('\n'));
  return { kind: 'run', command, args };
}

const isHelpRequested = (words: readonly string[]): boolean =>
  words.includes('--help') || words.includes('-h');

/** Finds the command that is named at the beginning of the command line. */
export const findCommand = (
  words: readonly string[],
  commands: readonly ClientCommand[],
): ClientCommand | null =>
  commands.find(({ name }) => {
    const parts = name.split(' ');
    return parts.every((part, at) => words[at] === part);
  }) ?? null;

function parseWithoutCommand(
  words: readonly string[],
  commands: readonly ClientCommand[],
): ParsedClientCommand {
  const [first = ''] = words;
  const group = commands.some(({ name }) => name.startsWith(`${first} `)) ? first : '';
  const rest = group === '' ? words : words.slice(1);
  if (isHelpRequested(rest) || rest[0] === 'help') return { kind: 'help', command: null, group };
  if (group === '' && (first === '--version' || first === '-V')) return { kind: 'version' };
  const known = commands
    .map(({ name }) => name)
    .filter((name) => group === '' || name.startsWith(`${group} `));
  const unknown =
    rest[0] === undefined
      ? `No ${getProductNames().name} command was specified.`
      : `Unknown command "${words.join(' ')}".`;
  throw new CommandUsageError(`${unknown} Commands: ${known.join(', ')}`);
}

const messages: ArgumentMessages = {
  unknown: (option) => `Unknown option ${option}.`,
  noValue: (option, placeholder) => `${option} requires a value (${placeholder}).`,
  extraValue: (option) => `${option} takes no value.`,
  repeated: (option) => `${option} was given twice.`,
};

function readArgs(words: readonly string[], { options, arguments: wanted = [] }: ClientCommand) {
  const end = words.indexOf('--');
  const own = end < 0 ? words : words.slice(0, end);
  const { values, words: given, mistakes } = parseArguments(own, options, messages);
  const args: CommandArguments = { options: {}, list: [], words: given };
  for (const [name, row] of Object.entries(options)) {
    const { instead, isList, value: placeholder } = row;
    const texts = values.get(name) ?? [];
    const wrong = texts.flatMap((text) => describeInvalidValue(row, text) ?? []);
    mistakes.push(...wrong.map((mistake) => `--${name} ${mistake}.`));
    if (texts.length > 0 && instead !== undefined && values.has(instead))
      mistakes.push(`--${instead} and --${name} cannot be combined.`);
    if (isList) args.list = texts;
    else if (texts[0] !== undefined) args.options[name] = placeholder === undefined ? true : texts[0];
  }
  for (const [at, { name, choices, isOptional }] of wanted.entries()) {
    const word = given[at];
    const wrong = word === undefined || !choices ? null : describeInvalidValue({ choices }, word);
    if (wrong !== null) mistakes.push(`${name} ${wrong}.`);
    if (word === undefined && !isOptional)
      mistakes.push(`${name} is missing${choices ? `: ${choices.join(' or ')}` : ''}.`);
  }
  mistakes.push(...given.slice(wanted.length).map((word) => `Unexpected argument "${word}".`));
  if (end >= 0 && end < words.length - 1) mistakes.push('No arguments are allowed after --.');
  return { args, mistakes };
}
