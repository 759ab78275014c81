import type { Command } from '../command.ts';
import { completionFor, shells } from '../completion.ts';
import { names } from '../names.ts';

export const command = (): Command => ({
  name: 'completion',
  summary: `Prints what makes a shell complete the words of ${names().name}.`,
  usage: `<${shells.join('|')}>`,
  options: [],
  arguments: [{ name: 'SHELL', choices: shells }],
  examples: [
    { line: `eval "$(${names().name} completion bash)"`, does: 'in this shell; in ~/.bashrc for all' },
    {
      line: `${names().name} completion fish > ~/.config/fish/completions/${names().name}.fish`,
      does: 'for fish, once',
    },
  ],
  run: async ({ args, stdout }) => {
    const shell = shells.find((known) => known === args.words[0]) ?? 'bash';
    stdout.write(completionFor(shell));
    return 0;
  },
});
