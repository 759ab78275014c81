import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/client/commands.ts';
import { completionFor, shells } from '../../src/client/completion.ts';

const hasShell = async (shell: string) =>
  (await execa(shell, ['-c', 'true'], { reject: false })).exitCode === 0;

/** What bash offers behind these words, the last of which is half typed. */
async function offered(words: readonly string[]): Promise<string[]> {
  const quoted = ['svc', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await execa('bash', ['-c', `${completionFor('bash', commands)}\n${ask}`]);
  return stdout.split('\n').filter(Boolean);
}

describe('completion', () => {
  it.each([
    [['inst'], ['instance']],
    [
      ['instance', ''],
      ['status', 'channel', 'update', 'follow', 'cancel', 'history'],
    ],
    [['instance', 'up'], ['update']],
    [['instance', 'channel', 'c'], ['canary']],
    [['instance', 'update', '--w'], ['--when-idle']],
    [['instance', 'update', '--when-idle', '--y'], ['--yes']],
    [['instance', 'update', '--timeout', ''], []],
    [
      ['completion', ''],
      [...shells, '--help'],
    ],
  ])('in bash offers for %j', async (words, expected) => {
    expect(await offered(words)).toEqual(expected);
  });

  it.each(shells)('is a script that %s can read', async (shell) => {
    const script = completionFor(shell, commands);
    for (const { name, options } of commands) {
      const words = [...name.split(' '), ...options.map((option) => option.name)];
      for (const word of words) expect(script).toContain(word);
    }
    if (!(await hasShell(shell))) return;
    await execa(shell, ['-n'], { input: script });
  });
});
