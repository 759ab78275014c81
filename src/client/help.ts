import type { Command } from './command.ts';
import { names } from './names.ts';
import { table } from './text.ts';

function settings(): string[] {
  const { name, url, token } = names();
  return [
    `Server address and token: ${url} and ${token}, or $XDG_CONFIG_HOME/${name}/config.json (written by ${name} login).`,
    'Colours are off if NO_COLOR is set or the output is not a terminal.',
  ];
}

/** The help of all commands, or of all commands of a group. */
export function helpOfAll(commands: readonly Command[], group: string): string {
  const program = names().name;
  const listed = commands.filter(({ name }) => group === '' || name.startsWith(`${group} `));
  return lines(
    group === '' ? `${program}: check and update ${a(program)} instance` : `${program} ${group}: commands`,
    '',
    ...table(listed.map(({ name, summary }) => [`${program} ${name}`, summary])),
    '',
    `Options and examples: ${program} COMMAND --help. Version of this client: ${program} --version`,
    ...settings(),
  );
}

export function helpOf(command: Command): string {
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
