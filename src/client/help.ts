import type { ClientCommand } from './command.ts';
import { names } from './names.ts';
import { table } from './text.ts';

function settings(): string[] {
  const { name, url, token } = names();
  return [
    `The server address and token are read from ${url} and ${token}, or from $XDG_CONFIG_HOME/${name}/config.json (written by ${name} login).`,
    'Colours are disabled if NO_COLOR is set or the output is not a terminal.',
  ];
}

/** The help of all commands, or of all commands of a group. */
export function helpOfAll(commands: readonly ClientCommand[], group: string): string {
  const program = names().name;
  const listed = commands.filter(({ name }) => group === '' || name.startsWith(`${group} `));
  return lines(
    group === '' ? `${program}: check and update ${a(program)} instance` : `${program} ${group}: commands`,
    '',
    ...table(listed.map(({ name, summary }) => [`${program} ${name}`, summary])),
    '',
    `Run ${program} COMMAND --help for options and examples, or ${program} --version for the version of this client.`,
    ...settings(),
  );
}

export function helpOf(command: ClientCommand): string {
  const { name, summary, usage, options, examples } = command;
  const rows = options.map((option) => [
    `--${option.name}${option.value === undefined ? '' : ` ${option.value}`}`,
    option.help + (option.choices === undefined ? '' : ` (${option.choices.join(', ')})`),
  ]);
  return lines(
    summary,
    '',
    `  ${names().name} ${name} ${usage}`.trimEnd(),
    ...(rows.length === 0 ? [] : ['', ...table(rows)]),
    '',
    'Examples:',
    ...table(examples),
    ...(name.startsWith('instance ') ? ['', ...settings()] : []),
  );
}

const lines = (...all: string[]): string => `${all.join('\n')}\n`;

/** `svc` is pronounced letter by letter. */
const a = (name: string): string => `${/^[aeio]|^svc$/.test(name) ? 'an' : 'a'} ${name}`;
