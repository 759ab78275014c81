import { join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { agentRows, callsOfTrace, covers } from '../documents/calls.ts';
import { bump, leastRights, updater } from '../documents/commands.ts';
import { commandsOf, read, root } from '../documents/documents.ts';
import { engineSocket, findNamed } from '../rig/engine-api.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { shareInstance } from './support/attempt.ts';
import { alone } from './support/instance.ts';

// The commands in the documentation work, and SECURITY.md lists the calls of the updater.

/** Compose copies this config into the container after creating it. */
const withCopiedFile = {
  extra: { app: 'configs: [greeting]' },
  tail: 'configs:\n  greeting: { content: hello }\n',
};

/** All traced runs use these two instances; `traces` has the log of each run. */
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
  // An existing local tag: the pull points it to a release whose app cannot start, and the rollback restores the tag.
  await traced().publish('v1.1.3', {});
  await execa('docker', ['pull', '--quiet', `${traced().image}:v1.1.3`]);
  await traced().publish('v1.1.3');
  await run(traced, 4, ['--target', 'v1.1.3']);
  await run(traced, 0, ['--target', 'v1.1.0'], ['--restart', 'on-failure:3']);
  await run(traced, 5, ['--target', 'v1.1.1', '--wait-timeout', '3']);
});

describe('the table of calls in SECURITY.md', () => {
  test('lists every call of these runs', () => {
    const unknown = traces
      .flatMap(callsOfTrace)
      .filter((call) => !agentRows.some((row) => covers(row, call)));
    expect(unknown).toEqual([]);
  });

  test('lists only calls of these runs and calls marked as rare', () => {
    const seen = traces.flatMap(callsOfTrace);
    const missing = agentRows.filter((row) => !row.isRare && !seen.some((call) => covers(row, call)));
    expect(missing.map(({ call }) => call)).toEqual([]);
  });
});

interface Place {
  cwd?: string;
  input?: string;
  env?: Record<string, string>;
  timeout?: number;
}

/** Runs a command in a shell, and requires the expected exit code. Returns the output. */
async function typed(command: string, place: Place = {}, expected = 0): Promise<string> {
  const options = { cwd: root, input: '', timeout: 120_000, ...place };
  const { exitCode, all } = await execa('sh', ['-c', command], { ...options, all: true, reject: false });
  expect(exitCode, `${command}\n${all}`).toBe(expected);
  return all;
}

const byFile = shareInstance({ ...alone, publish: ['v1.1.0', 'v1.2.0'] });
/** Inserts directory, socket, image and container name of the test into a documented command. */
function filledIn(command: string): string {
  const { directory, name } = byFile();
  return command
    .replace('--name svc-updater', `--name ${name}-updater`)
    .replace('-v /var/run/docker.sock:', `-v ${engineSocket}:`)
    .replaceAll('/opt/svc', directory)
    .replace('svc-updater:dev', updaterImage);
}

const update = async (command: string) =>
  expect(await typed(filledIn(command))).toMatch(/ INFO {2}done updated v\S+ → v\S+ in /);

/** A separate directory, so that the demo does not use the instance of a demo that a user has started. */
const demoState = join(inject('host').directory, 'demo');

/** Whether a user has left a demo running. */
const isDemoThere = (await findNamed('svc-updater-demo')).containers.length > 0;

describe('the documentation', () => {
  test('has a working bump command', async () => {
    const log = await typed(filledIn(bump), { cwd: byFile().directory });
    expect(log).toContain('+SVC_VERSION=v1.2.0');
  });

  test('has working commands for plan, for an update, and for an update with the least rights', async () => {
    expect(await typed(filledIn(`${updater} plan --target v1.1.0`))).toContain(
      'done planned: nothing was changed',
    );
    await update(`${updater} --target v1.1.0`);
    await update(`${leastRights} --target v1.2.0`);
  });

  test('has a working command for a manual update in the compose directory', async () => {
    const commands = commandsOf(read('docs/operating.md')).filter((each) =>
      each.startsWith('docker compose -f compose.prod.yaml'),
    );
    expect(commands).toHaveLength(1);
    await typed(commands.join(), { cwd: byFile().directory });
  });

  test.skipIf(isDemoThere)('has a working demo, scripts/demo', { timeout: 600_000 }, async () => {
    const script = read('scripts/demo');
    // The setup of the demo, which scripts/test has already done.
    for (const step of ['need_node_modules', '/scripts/engine" up', 'choose_docker', '/scripts/image"'])
      expect(script).toContain(step);
    // The demo has three updates and two rollbacks.
    const place = { timeout: 500_000, env: { STATE: demoState } };
    const story = await typed(`${process.execPath} test/platform/demo/main.ts run`, place);
    expect(story).toContain('v1.1.0 is running with all 3 rows of the database');
    expect(story).not.toContain('NOT TRUE');
  });
});
