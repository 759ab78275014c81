import type { Command, Option } from './command.ts';
import { names } from './names.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** What a shell offers where somebody types `svc …`, as a script to be read by it. */
export function completionFor(shell: Shell, commands: readonly Command[]): string {
  return shell === 'bash' ? bash(commands) : shell === 'zsh' ? zsh(commands) : fish(commands);
}

/** The words that may come next, by those before them. */
function tree(commands: readonly Command[]): Map<string, string[]> {
  const next = new Map<string, string[]>();
  const add = (before: string, ...words: string[]) =>
    next.set(before, [...new Set([...(next.get(before) ?? []), ...words])]);
  for (const { name, options, arguments: wanted = [] } of commands) {
    const parts = name.split(' ');
    parts.forEach((part, at) => {
      add(parts.slice(0, at).join(' '), part);
      add(['help', ...parts.slice(0, at)].join(' '), part);
    });
    add(name, ...(wanted[0]?.choices ?? []), ...options.map((option) => `--${option.name}`), '--help');
  }
  add('', 'help', '--help', '--version');
  return next;
}

/** Those that take one of a few words. */
const choosing = (commands: readonly Command[]): [string, Option][] =>
  commands.flatMap(({ name, options }) =>
    options.filter(({ choices }) => choices !== undefined).map((option): [string, Option] => [name, option]),
  );

function bash(commands: readonly Command[]): string {
  const { name: program } = names();
  const cases = [...tree(commands)].map(
    ([before, words]) => `    '${before}') words='${words.join(' ')}' ;;`,
  );
  const values = choosing(commands).map(
    ([name, option]) => `    '${name} --${option.name}') words='${option.choices?.join(' ')}' ;;`,
  );
  const taking = valueNames(commands);
  return `# ${program} completion for bash: eval "$(${program} completion bash)"
_${program}() {
  local before='' words='' at word previous=\${COMP_WORDS[COMP_CWORD-1]}
  # A file: what an option names, what is redirected, and all behind --.
  case "$previous" in ${fileNames(commands)}|'>'|'>>'|'<'|'2>'|'&>') compopt -o default; return ;; esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -- ]] && { compopt -o default; return; }
  done
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    [[ $word == -* ]] && break
    case "$before" in ${quotedNames(commands)}) break ;; esac
    before=\${before:+$before }$word
  done
  case "$previous" in ${taking}) before="$before $previous" ;; esac
  case "$before" in
${[...cases, ...values].join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _${program} ${program}
`;
}

function zsh(commands: readonly Command[]): string {
  const { name: program } = names();
  const cases = [...tree(commands)].map(([before, words]) => `    '${before}') next=(${words.join(' ')}) ;;`);
  const values = choosing(commands).map(
    ([name, option]) => `    '${name} --${option.name}') next=(${option.choices?.join(' ')}) ;;`,
  );
  return `#compdef ${program}
# ${program} completion for zsh: source <(${program} completion zsh), behind compinit
_${program}() {
  local before='' word previous=\${words[CURRENT-1]}
  local -a next
  # A file: what an option names, and all behind --.
  case "$previous" in ${fileNames(commands)}) _files; return ;; esac
  (( \${words[(I)--]} > 0 && \${words[(I)--]} < CURRENT )) && { _files; return }
  for word in \${words[2,CURRENT-1]}; do
    [[ $word == -* ]] && break
    case "$before" in ${quotedNames(commands)}) break ;; esac
    before=\${before:+$before }$word
  done
  case "$previous" in ${valueNames(commands)}) before="$before $previous" ;; esac
  case "$before" in
${[...cases, ...values].join('\n')}
  esac
  compadd -- $next
}
compdef _${program} ${program}
`;
}

function fish(commands: readonly Command[]): string {
  const { name: program } = names();
  const is = `__${program.replaceAll('-', '_')}_is`;
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap(({ name, summary, options, arguments: wanted = [] }) => {
    const parts = name.split(' ');
    const at = (words: readonly string[]) => `-n ${quote(`${is} ${words.join(' ')}`.trim())}`;
    const group = parts.length > 1 ? [`complete -c ${program} -f ${at([])} -a ${quote(parts[0] ?? '')}`] : [];
    const helps = parts.map(
      (part, index) =>
        `complete -c ${program} -f ${at(['help', ...parts.slice(0, index)])} -a ${quote(part)}`,
    );
    return [
      ...group,
      ...helps,
      `complete -c ${program} -f ${at(parts.slice(0, -1))} -a ${quote(parts.at(-1) ?? '')} -d ${quote(summary)}`,
      ...(wanted[0]?.choices
        ? [`complete -c ${program} -f ${at(parts)} -a ${quote(wanted[0].choices.join(' '))}`]
        : []),
      ...options.map((option) => {
        const value =
          option.value === undefined
            ? ''
            : option.value === 'FILE'
              ? ' -rF'
              : ` -x${option.choices ? ` -a ${quote(option.choices.join(' '))}` : ''}`;
        return `complete -c ${program}${option.value === 'FILE' ? '' : ' -f'} ${at(parts)} -l ${option.name}${value} -d ${quote(option.help)}`;
      }),
    ];
  });
  return `# ${program} completion for fish: ${program} completion fish | source
function ${is}
    set -l words (commandline -opc)[2..]
    set -l plain
    for word in $words
        string match -q -- '-*' $word; and break
        set -a plain $word
    end
    test "$plain" = "$argv"
end
complete -c ${program} -f
complete -c ${program} -F -n 'contains -- -- (commandline -opc)'
${[...new Set(lines)].join('\n')}
`;
}

const quotedNames = (commands: readonly Command[]): string =>
  commands.map(({ name }) => `'${name}'`).join('|');

const fileNames = (commands: readonly Command[]): string => {
  const names = commands.flatMap(({ options }) =>
    options.filter(({ value }) => value === 'FILE').map(({ name }) => `--${name}`),
  );
  return [...new Set(names)].join('|') || "''";
};

const valueNames = (commands: readonly Command[]): string => {
  const names = commands.flatMap(({ options }) =>
    options.filter(({ value }) => value).map(({ name }) => `--${name}`),
  );
  return [...new Set(names)].join('|') || "''";
};
