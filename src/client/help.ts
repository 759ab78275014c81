import type { Command } from './command.ts';
import { names } from './names.ts';
import { table } from './text.ts';

function settings(): string[] {
  const { name, url, token } = names();
  return [
    `Where ${name} is: ${url} and ${token}, or the file that ${name} login leaves`,
    `($XDG_CONFIG_HOME/${name}/config.json). Colours: never with NO_COLOR, or where the output is no terminal.`,
  ];
}

/** The help of all commands, or of those that begin with a word. */
export function helpOfAll(commands: readonly Command[], group: string): string {
  const program = names().name;
  const listed = commands.filter(({ name }) => group === '' || name.startsWith(`${group} `));
  return lines(
    group === ''
      ? `${program}: speaks with ${a(program)} instance, and updates it`
      : `${program} ${group}: what there is`,
    '',
    ...table(listed.map(({ name, summary }) => [`${program} ${name}`, summary])),
    '',
    `More of each: ${program} COMMAND --help. This version: ${program} --version`,
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

/** `svc` is spelt when it is said. */
const a = (name: string): string => `${/^[aeio]|^svc$/.test(name) ? 'an' : 'a'} ${name}`;
