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

// What the documents say that one can type, and what SECURITY.md says that the updater calls.

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

interface Place {
  cwd?: string;
  input?: string;
  env?: Record<string, string>;
  timeout?: number;
}

/** Types a command in a shell. Gives what it prints; it must end well unless another code is expected. */
async function typed(command: string, place: Place = {}, expected = 0): Promise<string> {
  const options = { cwd: root, input: '', timeout: 120_000, ...place };
  const { exitCode, all } = await execa('sh', ['-c', command], { ...options, all: true, reject: false });
  expect(exitCode, `${command}\n${all}`).toBe(expected);
  return all;
}

const byFile = shareInstance({ ...alone, publish: ['v1.1.0', 'v1.2.0'] });
/** A `docker run …` of the documents, with this instance's directory, image and name in it. */
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

/** Its instance must not be taken for one that a person has left running. */
const demoState = join(inject('host').directory, 'demo');

/** Somebody may have left one running. */
const isDemoThere = (await findNamed('svc-updater-demo')).containers.length > 0;

describe('a command of the documents', () => {
  test('bump', async () => {
    const log = await typed(filledIn(bump), { cwd: byFile().directory });
    expect(log).toContain('+SVC_VERSION=v1.2.0');
  });

  test('plan, update, and an update with the least rights', async () => {
    expect(await typed(filledIn(`${updater} plan --target v1.1.0`))).toContain(
      'done planned: nothing was changed',
    );
    await update(`${updater} --target v1.1.0`);
    await update(`${leastRights} --target v1.2.0`);
  });

  test('by hand, from the compose directory', async () => {
    const commands = commandsOf(read('docs/operating.md')).filter((each) =>
      each.startsWith('docker compose -f compose.prod.yaml'),
    );
    expect(commands).toHaveLength(1);
    await typed(commands.join(), { cwd: byFile().directory });
  });

  test.skipIf(isDemoThere)('scripts/demo', { timeout: 600_000 }, async () => {
    const script = read('scripts/demo');
    // What it sets up before, scripts/test sets up, too.
    for (const step of ['need_node_modules', '/scripts/engine" up', 'choose_docker', '/scripts/image"'])
      expect(script).toContain(step);
    // Three updates, and two ways back.
    const place = { timeout: 500_000, env: { STATE: demoState } };
    const story = await typed(`${process.execPath} test/platform/demo/main.ts run`, place);
    expect(story).toContain('v1.1.0 is running with all 3 rows of the database');
    expect(story).not.toContain('NOT TRUE');
  });
});
