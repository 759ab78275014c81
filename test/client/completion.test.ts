import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { clientCommands } from '../../src/client/client-commands.ts';
import { createBashCompletionScript, listCompletions } from '../../src/client/command-line/completion.ts';

const client = fileURLToPath(new URL('../../src/client/main.ts', import.meta.url));
/** Defines `svc` as if it were in the PATH. */
const script = `svc() { '${process.execPath}' '${client}' "$@"; }\n${createBashCompletionScript()}`;

/** Returns the completions of bash for the last, incomplete word. */
async function offered(words: readonly string[]): Promise<string[]> {
  const quoted = ['svc', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await execa('bash', ['-c', `${script}\n${ask}`]);
  return stdout.split('\n').filter(Boolean);
}

describe('completion', () => {
  it.each([
    [
      ['instance', ''],
      [
        'status',
        'channel',
        'skip',
        'automatic',
        'rehearse',
        'update',
        'follow',
        'cancel',
        'history',
        'rollback',
        'report',
      ],
    ],
    [['instance', 'channel', 'c'], ['canary']],
    [['instance', 'update', '--timeout', ''], []],
  ])('suggests the expected words in bash for %j', async (words, expected) => {
    expect(await offered(words)).toEqual(expected);
  });

  it.each(clientCommands)('suggests every word and option of $name', ({ name, options }) => {
    const parts = name.split(' ');
    const offeredAfter = (words: readonly string[]) =>
      listCompletions(words, clientCommands)
        .split('\n')
        .map((line) => line.split('\t')[0]);
    parts.forEach((part, at) => {
      expect(offeredAfter(parts.slice(0, at))).toContain(part);
      expect(offeredAfter(['help', ...parts.slice(0, at)])).toContain(part);
    });
    expect(offeredAfter(parts)).toEqual(
      expect.arrayContaining([...Object.keys(options).map((name) => `--${name}`), '--help']),
    );
  });
});
