import type { Command } from './command.ts';
import { table } from './shown.ts';

const settings = [
  'Where svc is: SVC_URL and SVC_TOKEN, or the file that svc login leaves',
  '($XDG_CONFIG_HOME/svc/config.json). Colours: never with NO_COLOR, or where the output is no terminal.',
];

/** The help of all commands, or of those that begin with a word. */
export function helpOfAll(commands: readonly Command[], group: string): string {
  const listed = commands.filter(({ name }) => group === '' || name.startsWith(`${group} `));
  return lines(
    group === '' ? 'svc: speaks with an svc instance, and updates it' : `svc ${group}: what there is`,
    '',
    ...table(listed.map(({ name, summary }) => [`svc ${name}`, summary])),
    '',
    'More of each: svc COMMAND --help. This version: svc --version',
    ...settings,
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
    `  svc ${name} ${usage}`.trimEnd(),
    ...(rows.length === 0 ? [] : ['', ...table(rows)]),
    '',
    'Examples:',
    ...table(examples.map(({ line, does }) => [line, does])),
    ...(name.startsWith('instance ') ? ['', ...settings] : []),
  );
}

const lines = (...all: string[]): string => `${all.join('\n')}\n`;
