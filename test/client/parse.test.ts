import { describe, expect, it } from 'vitest';
import { allCommands } from '../../src/client/commands.ts';
import { parseTyped } from '../../src/client/parse.ts';
import { svc } from './rig.ts';

const commands = allCommands();
const parse = (line: string) => parseTyped(line.split(' ').filter(Boolean), commands);

describe('what was mistyped', () => {
  it.each([
    ['instance statu', 'There is no command "instance statu". There are: instance status, '],
    ['', 'What should svc do? There are: instance status, '],
  ])('%s: what there is, is said', (line, said) => {
    expect(() => parse(line)).toThrow(said);
  });

  it('is written out where it would move the cursor', async () => {
    const { err, exitCode } = await svc('', 'instance \x1b[2J\u202e --\x07');
    expect([exitCode, err]).toEqual([
      2,
      expect.stringContaining('There is no command "instance \\u001b[2J\\u202e --\\u0007".'),
    ]);
    expect(err).toMatch(/\nMore: svc instance --help\n$/);
  });
});

it('help is where it is looked for, and -- alone is nothing', () => {
  for (const line of ['instance help', 'help instance', 'instance -h', 'instance help status'])
    expect(parse(line)).toEqual({ kind: 'help', command: null, group: 'instance' });
  expect(parse('instance status --')).toMatchObject({ kind: 'run', args: { words: [] } });
  expect(() => parse('instance status -- x')).toThrow('Nothing may stand behind --.');
});
