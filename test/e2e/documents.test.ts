import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { agentRows, callsOfTrace, covers } from '../documents/calls.ts';
import { bump, commands, leastRights, type Proof, type RunCommand, updater } from '../documents/commands.ts';
import { read, root } from '../documents/documents.ts';
import { dockerConfig, startBadRegistry } from '../rig/bad-registry.ts';
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
/** Its compose file has the name that compose finds by itself. */
const byName = shareInstance({ kind: 'inline' });

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

const inDirectory = (command: string) => typed(command, { cwd: byName().directory });

/** What the updater calls, with the flags that the documents name in their order. */
const isInTraces =
  (...flags: string[]) =>
  async () => {
    const has = (line: string) => flags.every((flag) => line.includes(` ${flag} `));
    expect(traces.some((trace) => trace.split('\n').some(has))).toBe(true);
  };

/** The log of an updater whose container was kept, by a command that ends with the name. */
const logOfUpdater = async (command: string) => {
  const { containers } = await findNamed(`${traced().name}-updater`);
  const log = await typed(`${command} ${containers[0]?.name}`);
  expect(log).toMatch(/ done updated /);
};

/** Its instance must not be taken for one that a person has left running. */
const demoState = join(inject('host').directory, 'demo');

/** The program behind scripts/demo: what that sets up before, scripts/test sets up, too. */
async function demo(mode: 'run' | 'keep'): Promise<void> {
  const script = read('scripts/demo');
  expect(script).toMatch(
    /exec "\$ROOT\/node_modules\/\.bin\/node" "\$ROOT\/test\/platform\/demo\/main\.ts" "\$mode"\n$/,
  );
  for (const step of ['need_node_modules', '/scripts/engine" up', 'choose_docker', '/scripts/image"']) {
    expect(script).toContain(step);
  }
  const story = await typed(`${process.execPath} test/platform/demo/main.ts ${mode}`, {
    // Three updates, and two ways back.
    timeout: 500_000,
    env: { STATE: demoState },
  });
  expect(story).toContain('app answers v1.1.0, and app and worker run its image');
  expect(story).not.toContain('NOT SO');
}

const isDemoThere = (await findNamed('svc-updater-demo')).containers.length > 0;

/** Each is given its own text. */
const run: Record<RunCommand, (command: string) => Promise<unknown>> = {
  [bump]: async (command) => {
    const log = await typed(filledIn(command), { cwd: byFile().directory });
    expect(log).toContain('+SVC_VERSION=v1.2.0');
  },
  [`${updater} plan --target v1.1.0`]: async (command) =>
    expect(await typed(filledIn(command))).toContain('done planned: nothing was changed'),
  [`${updater} --target v1.1.0`]: update,
  // The next release: the one before is there already.
  [`${leastRights} --target v1.1.0`]: (command) => update(command.replace('v1.1.0', 'v1.2.0')),
  'docker logs svc-updater': (command) => logOfUpdater(command.replace(' svc-updater', '')),
  'docker logs -f': logOfUpdater,
  "docker image inspect --format '{{.RepoDigests}}' IMAGE": async (command) => {
    const { image } = byFile();
    expect(await typed(command.replace('IMAGE', `${image}:v1.2.0`))).toContain(`${image}@sha256:`);
  },

  'docker compose config': async (command) => expect(await inDirectory(command)).toContain('services:'),
  'docker compose ps': async (command) => expect(await inDirectory(command)).toContain('-worker-1'),
  'docker compose logs app worker': inDirectory,
  'docker compose pull': inDirectory,
  'docker compose up -d': inDirectory,
  'docker compose pull && docker compose up -d': inDirectory,
  'docker compose -f compose.prod.yaml pull && docker compose -f compose.prod.yaml up -d': (command) =>
    typed(command, { cwd: byFile().directory }),
  'docker compose pull app worker && docker compose up -d --no-deps --wait app worker': inDirectory,
  'docker login REGISTRY': async (command) => {
    const login = { user: 'svc', password: 'correct horse' };
    const registry = await startBadRegistry(inject('host').registry, login);
    const config = await mkdtemp(join(inject('host').directory, 'login-'));
    onTestFinished(() => registry.close());
    // Without a terminal it cannot ask for them.
    await writeFile(join(config, 'config.json'), dockerConfig(registry.host, login));
    const place = { env: { DOCKER_CONFIG: config } };
    expect(await typed(command.replace('REGISTRY', registry.host), place)).toContain('Login Succeeded');
  },
  'docker image prune': async (command) => {
    // Other people's images may be among them: answered with no, which some clients end with 1.
    const { all } = await execa('sh', ['-c', command], { input: 'n\n', all: true, reject: false });
    expect(all).toContain('This will remove all dangling images');
  },

  'docker compose pull --policy always': isInTraces('compose', 'pull --policy always'),
  'docker compose up -d --no-deps': isInTraces('compose', 'up --detach --no-deps'),
  'docker compose up --no-deps --no-build --pull never': isInTraces(
    'compose',
    'up --detach --no-deps --no-build --pull never',
  ),

  'scripts/engine status': async (command) => expect(await typed(command)).toMatch(/^engine .*\ncompose /m),
  'scripts/demo': () => demo('run'),
  'scripts/demo --keep': () => demo('keep'),
  'scripts/demo --remove': async (command) =>
    expect(await typed(command, { env: { SVC_UPDATER_DEV_STATE: demoState } })).toContain(
      'removed the platform of the demo',
    ),
  'scripts/bench --help': async (command) => expect(await typed(command)).toContain('usage: scripts/bench'),
};

describe('a command of the documents', () => {
  for (const [command, proof] of Object.entries<Proof>(commands)) {
    if (!('by' in proof)) continue;
    const isDemo = command.startsWith('scripts/demo');
    const timeout = isDemo ? 600_000 : 240_000;
    const name = isDemo && isDemoThere ? `${command}: somebody has one` : command;
    test.skipIf(isDemo && isDemoThere)(name, { timeout }, () => run[command as RunCommand](command));
  }
});
