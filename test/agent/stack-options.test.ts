import { describe, expect, it } from 'vitest';
import { Log } from '../../src/agent/log/log.ts';
import { parseOptions, type UpdateOptions } from '../../src/agent/process/options.ts';
import type { RunContext } from '../../src/agent/process/run-context.ts';
import { warnOfStackOptions } from '../../src/agent/update.ts';

describe('what is of a stack, at a compose project', () => {
  it.each([
    [[], null],
    [['--stop-app'], '--stop-app is of a stack, and this is a compose project: not used'],
    [
      ['--file', 'a.yaml', '--stop-app'],
      '--file and --stop-app are of a stack, and this is a compose project: not used',
    ],
  ])('is told: %j', (argv, sentence) => {
    const lines: string[] = [];
    const log = new Log(({ message }) => lines.push(message));
    const context: Pick<RunContext, 'options' | 'log'> = {
      options: parseOptions(argv, {}) as UpdateOptions,
      log,
    };
    warnOfStackOptions(context);
    expect(lines).toEqual(sentence === null ? [] : [sentence]);
  });
});
