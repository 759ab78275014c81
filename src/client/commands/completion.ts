import type { Command } from '../command.ts';
import { names } from '../names.ts';
import { findCommand } from '../parse.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const completion: Command = {
  name: 'completion',
  summary: 'Prints what makes a shell complete the words of svc.',
  usage: `<${shells.join('|')}>`,
  options: [],
  arguments: [{ name: 'SHELL', choices: shells }],
  examples: [
    ['eval "$(svc completion bash)"', 'in this shell; in ~/.bashrc for all'],
    ['svc completion fish > ~/.config/fish/completions/svc.fish', 'for fish, once'],
  ],
  run: async ({ args, stdout }) => {
    const shell = shells.find((known) => known === args.words[0]) ?? 'bash';
    stdout.write(completionFor(shell));
    return 0;
  },
};

/** The word by which a shell's script asks the client; behind it are the words before the one that is being typed. */
export const askForOffers = '__complete';
/** The answer where a file comes next, which the shell knows best. */
const files = ':files';

/** What may come next behind the words, one a line, with what it is behind a tab. */
export function offersAfter(words: readonly string[], commands: readonly Command[]): string {
  const previous = words.at(-1) ?? '';
  const command = findCommand(words, commands);
  const option = command?.options.find(({ name, value }) => value && `--${name}` === previous);
  if (words.includes('--') || option?.value === 'FILE' || /^[\d&]*(?:>>?|<)$/.test(previous)) return files;
  if (option) return (option.choices ?? []).join('\n');
  const options = command?.options.map(({ name, help }) => `--${name}\t${help}`) ?? [];
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

/** What makes a shell ask the client what comes next, as a script to be read by it. */
export function completionFor(shell: Shell): string {
  const { name: program } = names();
  const ask = `${program} ${askForOffers}`;
  const own = `_${program.replaceAll('-', '_')}`;
  switch (shell) {
    case 'bash':
      return `# ${program} completion for bash: eval "$(${program} completion bash)"
${own}() {
  local next
  next=$(${ask} "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
  if [[ $next == ${files} ]]; then compopt -o default; return; fi
  COMPREPLY=($(compgen -W "$(cut -f1 <<<"$next")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F ${own} ${program}
`;
    case 'zsh':
      return `#compdef ${program}
# ${program} completion for zsh: source <(${program} completion zsh), behind compinit
${own}() {
  local -a next
  next=(\${(f)"$(${ask} "\${(@)words[2,CURRENT-1]}" 2>/dev/null)"})
  [[ $next == ${files} ]] && { _files; return }
  compadd -- \${next%%$'\\t'*}
}
compdef ${own} ${program}
`;
    case 'fish':
      return `# ${program} completion for fish: ${program} completion fish | source
function ${own}
    set -l next (${ask} (commandline -opc)[2..] 2>/dev/null)
    if test "$next" = ${files}
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $next
    end
end
complete -c ${program} -f -a '(${own})'
`;
  }
}
