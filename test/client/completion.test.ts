import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, describe, expect, it } from 'vitest';
import { completionFor, offersAfter, type Shell, shells } from '../../src/client/commands/completion.ts';
import { allCommands } from '../../src/client/commands.ts';

const commands = allCommands();
const hasShell = async (shell: string) =>
  (await execa(shell, ['-c', 'true'], { reject: false })).exitCode === 0;

const client = fileURLToPath(new URL('../../src/client/main.ts', import.meta.url));
const asked = `'${process.execPath}' '${client}'`;
/** With a client of this name, as it is on the path of who has installed one. */
const script = (shell: Shell) =>
  `${shell === 'fish' ? `function svc; ${asked} $argv; end` : `svc() { ${asked} "$@"; }`}\n${completionFor(shell)}`;

/** What bash offers behind these words, the last of which is half typed. */
async function offered(words: readonly string[]): Promise<string[]> {
  const quoted = ['svc', ...words].map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await execa('bash', ['-c', `${script('bash')}\n${ask}`]);
  return stdout.split('\n').filter(Boolean);
}

const directory = mkdtempSync(join(tmpdir(), 'svc-completion-'));
writeFileSync(join(directory, 'a-file'), '');
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('completion', () => {
  it.each([
    [['inst'], ['instance']],
    [
      ['instance', ''],
      ['status', 'channel', 'skip', 'automatic', 'update', 'follow', 'cancel', 'history', 'back'],
    ],
    [['instance', 'up'], ['update']],
    [['instance', 'channel', 'c'], ['canary']],
    [['instance', 'update', '--w'], ['--when-idle']],
    [['instance', 'update', '--when-idle', '--y'], ['--yes']],
    [
      ['instance', 'update', '--t'],
      ['--target', '--through', '--timeout'],
    ],
    [['instance', 'automatic', '--no'], ['--no-majors']],
    [['instance', 'update', '--timeout', ''], []],
    [['help', 'inst'], ['instance']],
    [
      ['help', 'instance', 'c'],
      ['channel', 'cancel'],
    ],
    [
      ['completion', ''],
      [...shells, '--help'],
    ],
  ])('in bash offers for %j', async (words, expected) => {
    expect(await offered(words)).toEqual(expected);
  });

  it.each([
    ['svc inst', 'instance'],
    ['svc instance up', 'update'],
    ['svc instance update --wh', '--when-idle'],
    ['svc help instance up', 'update'],
    ['svc update --program ./a', './a-file'],
    ['svc update --program x -- ./a', './a-file'],
  ])('in fish makes of %s: %s', async (line, word) => {
    if (!(await hasShell('fish'))) return;
    const ask = `${script('fish')}\ncomplete -C '${line}'`;
    const { stdout } = await execa('fish', ['--no-config', '-c', ask], { cwd: directory });
    expect(stdout.split('\n').map((offer) => offer.split('\t')[0])).toEqual([word]);
  });

  it.each([
    ['update', '--program', './a'],
    ['update', '--program', 'x', '--', './a'],
    ['instance', 'status', '>', './a'],
  ])('in bash leaves files to bash: %s %s %s', async (...words) => {
    const quoted = ['svc', ...words].map((word) => `'${word}'`).join(' ');
    const ask = `compopt() { echo "compopt $*"; }; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _svc; echo "\${#COMPREPLY[@]}"`;
    const { stdout } = await execa('bash', ['-c', `${script('bash')}\n${ask}`]);
    expect(stdout).toBe('compopt -o default\n0');
  });

  it.each(shells)('is a script that %s can read', async (shell) => {
    if (!(await hasShell(shell))) return;
    // In a file: fish does not read a socket.
    const file = join(directory, shell);
    writeFileSync(file, completionFor(shell));
    await execa(shell, ['-n', file]);
  });

  it.each(commands)('offers every word of $name', ({ name, options }) => {
    const parts = name.split(' ');
    const offeredAfter = (words: readonly string[]) =>
      offersAfter(words, commands)
        .split('\n')
        .map((line) => line.split('\t')[0]);
    parts.forEach((part, at) => {
      expect(offeredAfter(parts.slice(0, at))).toContain(part);
      expect(offeredAfter(['help', ...parts.slice(0, at)])).toContain(part);
    });
    expect(offeredAfter(parts)).toEqual(
      expect.arrayContaining([...options.map((option) => `--${option.name}`), '--help']),
    );
  });
});
