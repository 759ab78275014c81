import { formatOptionUsage } from '../../core/command-line/option-row.ts';
import { fillFields } from '../../core/errors/advice.ts';
import type { ClientCommand } from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { formatTable } from './text.ts';

function settings(): string[] {
  const { name, url, token } = getProductNames();
  return [
    `The server address and token are read from ${url} and ${token}, or from $XDG_CONFIG_HOME/${name}/config.json (written by ${name} login).`,
    'Colours are disabled if NO_COLOR is set or the output is not a terminal.',
  ];
}

/** Lists all commands, or the commands in `group` if it is not empty. */
export function formatGeneralHelp(commands: readonly ClientCommand[], group: string): string {
  const program = getProductNames().name;
  const listed = commands.filter(({ name }) => group === '' || name.startsWith(`${group} `));
  return lines(
    group === '' ? `${program}: check and update ${a(program)} instance` : `${program} ${group}: commands`,
    '',
    ...formatTable(listed.map(({ name, summary }) => [`${program} ${name}`, summary])),
    '',
    `Run ${program} COMMAND --help for options and examples, or ${program} --version for the version of this client.`,
    ...settings(),
  );
}

export function formatCommandHelp(command: ClientCommand): string {
  const { name, summary, options, examples } = command;
  const rows = Object.entries(options).map(([option, row]) => [
    formatOptionUsage(option, row),
    row.help + (row.choices === undefined ? '' : ` (${row.choices.join(', ')})`),
  ]);
  return lines(
    summary,
    '',
    `  ${getProductNames().name} ${name} ${usageText(command)}`.trimEnd(),
    ...(rows.length === 0 ? [] : ['', ...formatTable(rows)]),
    '',
    'Examples:',
    ...formatTable(examples.map((row) => row.map(fill))),
    ...(name.startsWith('instance ') ? ['', ...settings()] : []),
  );
}

/** Formats the arguments and options: `<CHANNEL> [--when-idle | --force] [--json]`. */
function usageText({ usage, arguments: words = [], options }: ClientCommand): string {
  const rows = Object.entries(options);
  const optionTexts = rows
    .filter(([, { instead }]) => instead === undefined)
    .map(([name, row]) => {
      const others = rows.filter(([, { instead }]) => instead === name);
      const labels = [[name, row] as const, ...others].map((each) => formatOptionUsage(...each));
      return `[${labels.join(' | ')}]${row.isList ? '...' : ''}`;
    });
  return (
    usage ??
    [...words.map(({ name, choices }) => `<${choices?.join('|') ?? name}>`), ...optionTexts].join(' ')
  );
}

const lines = (...all: string[]): string => fill(`${all.join('\n')}\n`);

const fill = (text: string): string => fillFields(text, { product: getProductNames().name });

/** Adds the indefinite article to a name. `svc` gets `an`, because it is pronounced letter by letter. */
const a = (name: string): string => `${/^[aeio]|^svc$/.test(name) ? 'an' : 'a'} ${name}`;
