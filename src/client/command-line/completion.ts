import type { ClientCommand } from './client-command.ts';
import { findCommand } from './parse-client-command.ts';
import { getProductNames } from './product-names.ts';

export const completionCommand: ClientCommand = {
  name: 'completion',
  summary: 'Print the completion script for bash',
  options: {},
  arguments: [{ name: 'SHELL', choices: ['bash'] }],
  examples: [
    [
      'eval "$({product} completion bash)"',
      'enable completion in this shell, or in ~/.bashrc for all shells',
    ],
    [
      '{product} completion bash > ~/.local/share/bash-completion/completions/{product}',
      'install completion for all shells',
    ],
  ],
  run: async ({ stdout }) => {
    stdout.write(createBashCompletionScript());
    return 0;
  },
};

/** Hidden command that the completion script runs. Its arguments are the words before the cursor. */
export const hiddenCompletionCommandName = '__complete';

/** Returns the words that can follow `words`, one per line. A tab separates a word from its description. */
export function listCompletions(words: readonly string[], commands: readonly ClientCommand[]): string {
  const previous = words.at(-1) ?? '';
  const command = findCommand(words, commands);
  const rows = Object.entries(command?.options ?? {});
  const [, option] = rows.find(([name, { value }]) => value && `--${name}` === previous) ?? [];
  if (option) return (option.choices ?? []).join('\n');
  const options = rows.map(([name, { help }]) => `--${name}\t${help}`);
  if (command) return [...(command.arguments?.[0]?.choices ?? []), ...options, '--help'].join('\n');
  const asksForHelp = words[0] === 'help';
  const typed = asksForHelp ? words.slice(1) : words;
  const parts = commands.flatMap(({ name, summary }) => {
    const own = name.split(' ');
    if (own.length <= typed.length || typed.some((word, at) => word !== own[at])) return [];
    return own.length === typed.length + 1 ? `${own.at(-1)}\t${summary}` : (own[typed.length] ?? []);
  });
  return [...new Set(parts), ...(words.length === 0 ? ['help', '--help', '--version'] : [])].join('\n');
}

/** The script runs the client to complete a command line. */
export function createBashCompletionScript(): string {
  const { name: program } = getProductNames();
  const own = `_${program.replaceAll('-', '_')}`;
  return `# ${program} completion for bash: eval "$(${program} completion bash)"
${own}() {
  local next
  next=$(${program} ${hiddenCompletionCommandName} "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
  COMPREPLY=($(compgen -W "$(cut -f1 <<<"$next")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F ${own} ${program}
`;
}
