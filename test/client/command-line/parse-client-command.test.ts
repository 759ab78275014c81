import { describe, expect, it } from 'vitest';
import { clientCommands } from '../../../src/client/client-commands.ts';
import { parseClientCommand } from '../../../src/client/command-line/parse-client-command.ts';
import { svc } from '../rig.ts';

const parse = (line: string) => parseClientCommand(line.split(' ').filter(Boolean), clientCommands);

describe('a mistyped command', () => {
  it.each([
    ['instance statu', 'Unknown command "instance statu". Commands: instance status, '],
    ['', 'No svc command was specified. Commands: instance status, '],
  ])('causes an error that lists the commands: %s', (line, said) => {
    expect(() => parse(line)).toThrow(said);
  });

  it('is escaped if it contains control characters', async () => {
    const { err, exitCode } = await svc('', 'instance \x1b[2J\u202e --\x07');
    expect([exitCode, err]).toEqual([
      2,
      expect.stringContaining('Unknown command "instance \\u001b[2J\\u202e --\\u0007".'),
    ]);
    expect(err).toMatch(/\nHelp: svc instance --help\n$/);
  });
});

it('accepts every form of the help command, and ignores a trailing --', () => {
  for (const line of ['instance help', 'help instance', 'instance -h', 'instance help status'])
    expect(parse(line)).toEqual({ kind: 'help', command: null, group: 'instance' });
  expect(parse('instance status --')).toMatchObject({ kind: 'run', args: { words: [] } });
  expect(() => parse('instance status -- x')).toThrow('No arguments are allowed after --.');
});
