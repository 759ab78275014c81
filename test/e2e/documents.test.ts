import { execa } from 'execa';
import { beforeAll, describe, expect, test } from 'vitest';
import { agentRows, callsOfTrace, covers } from '../documents/calls.ts';
import { shareInstance } from './support/attempt.ts';
import { alone } from './support/instance.ts';

// What SECURITY.md says that the updater calls.

/** Compose copies such a file into the container after it has made it. */
const withCopiedFile = {
  extra: { app: 'configs: [greeting]' },
  tail: 'configs:\n  greeting: { content: hello }\n',
};

/** All runs are on these two; `traces` has a text for each run. */
const traced = shareInstance({ ...alone, text: withCopiedFile, publish: ['v1.1.0', 'v1.1.1'] });
const generated = shareInstance({ ...alone, kind: 'generated' });
const traces: string[] = [];

beforeAll(async () => {
  const run = async (instance: typeof traced, expected: number, args: string[], docker?: string[]) => {
    const options = docker === undefined ? {} : { keep: true, docker };
    const { exitCode, log } = await instance().update(args, { ...options, env: { SVC_UPDATER_TRACE: '1' } });
    expect(exitCode, log).toBe(expected);
    traces.push(log);
  };
  await run(generated, 0, ['--target', 'v1.1.0']);
  await run(traced, 0, ['plan', '--target', 'v1.1.0']);
  // A tag that was here before: the pull moves it to a release whose app cannot even start, and it is moved back.
  await traced().publish('v1.1.3', {});
  await execa('docker', ['pull', '--quiet', `${traced().image}:v1.1.3`]);
  await traced().publish('v1.1.3');
  await run(traced, 4, ['--target', 'v1.1.3']);
  await run(traced, 0, ['--target', 'v1.1.0'], ['--restart', 'on-failure:3']);
  await run(traced, 5, ['--target', 'v1.1.1', '--wait-timeout', '3']);
});

describe("SECURITY.md's table", () => {
  test('has every call that these runs have made', () => {
    const unknown = traces
      .flatMap(callsOfTrace)
      .filter((call) => !agentRows.some((row) => covers(row, call)));
    expect(unknown).toEqual([]);
  });

  test('has no call but those, and those that are said to be rare', () => {
    const seen = traces.flatMap(callsOfTrace);
    const missing = agentRows.filter((row) => !row.isRare && !seen.some((call) => covers(row, call)));
    expect(missing.map(({ call }) => call)).toEqual([]);
  });
});
