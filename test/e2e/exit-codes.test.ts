import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { changeFiles } from '../judge/files.ts';
import { judgeBroken, judgeBroughtBack, judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { judgeBrokenLog, type Says } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { judgeUpDoesNothing, judgeUpKeepsVersion } from '../judge/operators-up.ts';
import {
  type BadRegistry,
  dockerConfig,
  type FaultScope,
  type RegistryFault,
  registryFaults,
  startBadRegistry,
} from '../rig/bad-registry.ts';
import { generatedCompose } from '../rig/compose-text.ts';
import {
  createInstanceFor,
  expectAttempt,
  expectWords,
  keepFiles,
  shareInstance,
} from './support/attempt.ts';
import { shortPauses } from './support/fast-clock.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Every exit code of docs/contract.md 1.4: the reported outcome and state, and the actual state of the instance.

const toNext = ['--target', 'v1.1.0'];
const good = { version: 'v1.1.0', changed: { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') } };
const hint = 'then run the update again';
/** The containers of this release stop only once `data/go` exists; `grace` keeps the engine from killing them. */
const stuck = { env: { STOP_UNTIL: '/data/go' } };
const grace = 'stop_grace_period: 10m';

describe('exit code', () => {
  const instance = shareInstance();

  test('1: a crash caused by a bug reports the state of the files and containers', async () => {
    // Injects a bug: JSON.stringify throws if the updater calls it, but not for Node's own modules.
    const throws = "if(/agent\\.mjs/.test(new Error().stack))throw new TypeError('a bug')";
    const bug = encodeURIComponent(
      `const write=JSON.stringify;JSON.stringify=(...a)=>{${throws};return write(...a)}`,
    );
    const before = await look(instance());
    const result = await instance().update(toNext, {
      env: { NODE_OPTIONS: `--import=data:text/javascript,${bug}` },
    });
    expect(result.exitCode, result.log).toBe(1);
    expect(result.log).toContain('TypeError: a bug');
    expect(result.lines.at(-1)?.message).toBe(
      'crashed: this is a bug in the updater; no container was changed, and the original files are in place. Next: Please report the lines above.',
    );
    expect(judgeUntouched(before, await look(instance()))).toEqual([]);
  });

  test('2: all errors in the options are reported together', async () => {
    const args = ['--target', '1 2', '--wait-timeout', 'soon', '--color', '--dir', 'svc', 'extra'];
    const says = [
      "--target must be a release in the format of the product's tags (v1.2.3, 2025.8.4, 32.0.1-apache)",
      '--wait-timeout must be a whole number of seconds',
      'unknown option --color',
      '--dir must be an absolute path, not "svc"',
      '"extra"',
    ];
    const ends = ['usage: nothing was done. Next: See --help.'];
    // Without a socket, because the updater must not request anything from the engine.
    await expectAttempt(instance(), args, { exitCode: 2, says, ends }, { socket: null });
  });

  test('4: an edit that cannot be verified is not written', async () => {
    await keepFiles(instance());
    const { parts } = inject('host');
    const extra = (part: string) => `services: {extra: {image: '${parts}/${part}:1', command: idle}}\n`;
    await instance().write('extra-v1.0.0.yaml', extra('tunnel'));
    await instance().write('extra-v1.1.0.yaml', extra('proxy'));
    const text = await instance().read('compose.prod.yaml');
    const include = `include:\n  - extra-\${SVC_VERSION}.yaml\nservices:\n`;
    await instance().write('compose.prod.yaml', text.replace('services:\n', include));
    await expectAttempt(instance(), toNext, {
      exitCode: 4,
      says: [
        'the edit would change more than the version, so no file was written',
        /services\.extra\.image: .*tunnel:1.* → .*proxy:1/,
      ],
      ends: [
        'failed (proof-failed): nothing was changed; v1.0.0 is still running.',
        'Next: Change the version manually',
      ],
    });
  });

  // Must be the last test, because it updates the shared instance.
  test('0: an update succeeds, and a second run reports unchanged', async () => {
    const before = await look(instance());
    const updated = await instance().update(toNext);
    expectWords(updated, {
      exitCode: 0,
      says: [],
      ends: [/^updated v1\.0\.0 → v1\.1\.0 in \d+ s/],
    });
    expect(judgeUpdated(before, await look(instance()), good)).toEqual([]);

    await expectAttempt(instance(), toNext, {
      exitCode: 0,
      says: [],
      ends: ['unchanged: app and worker run v1.1.0 already; nothing to do'],
    });
    expect(await judgeUpKeepsVersion(instance())).toEqual([]);
  });
});

describe('4: a failed pull changes nothing', () => {
  interface PullFailure {
    name: string;
    fault: RegistryFault | 'down';
    scope?: FaultScope;
    args?: string[];
    says: string | RegExp;
    next: string | RegExp;
    /** Seconds before each retry, if the failure may be temporary. */
    pauses?: number[];
  }
  const often = [2, 5, 10];
  const failures: PullFailure[] = [
    {
      name: '401',
      fault: registryFaults.denied,
      says: 'the registry denied access (wrong or missing credentials)',
      next: "On the host, log in with docker login. Mount the host's config.json file",
    },
    {
      name: 'connection refused',
      fault: 'down',
      says: 'the registry cannot be reached, after 4 tries',
      next: 'Make sure that this machine can reach the registry',
      pauses: often,
    },
    {
      name: 'a stall for ever',
      fault: registryFaults.stall,
      scope: { on: 'blobs' },
      args: ['--pull-timeout', '4'],
      says: 'took longer than allowed',
      next: 'Run the update again with a longer --pull-timeout',
    },
  ];

  // All failures use one instance, which none of them may change.
  test('if the registry denies access, is unreachable, stalls or has no image for the platform', async () => {
    const registry = await startBadRegistry(inject('host').registry);
    onTestFinished(() => registry.close());
    const instance = await createInstance({ ...alone, registry: registry.host });
    for (const failure of failures) await fails(instance, registry, failure);
    await instance.publish('v1.2.0', { platforms: ['linux/riscv64'] });
    registry.fail(null);
    await expectAttempt(instance, ['--target', 'v1.2.0'], {
      exitCode: 4,
      says: [`${instance.image}:v1.2.0: the release has no image for this platform`],
      ends: [
        'failed (pull-platform): nothing was changed; v1.0.0 is still running.',
        'Next: Choose another release, or ask the publisher',
      ],
    });
    registry.fail(registryFaults.error, { on: 'manifests', times: 2 });
    expectWords(await instance.update(toNext, { env: shortPauses }), {
      exitCode: 0,
      says: ['the registry reported a server error (5xx); trying again in 2 s'],
      ends: ['updated v1.0.0 → v1.1.0'],
    });
  });

  async function fails(instance: Instance, registry: BadRegistry, failure: PullFailure): Promise<void> {
    if (failure.fault === 'down') await registry.down();
    else registry.fail(failure.fault, failure.scope);

    const { log } = await expectAttempt(
      instance,
      [...toNext, ...(failure.args ?? [])],
      {
        exitCode: 4,
        says: [failure.says, `${instance.image}:v1.1.0`],
        ends: [
          /^failed \(pull-[a-z]+\): nothing was changed; v1\.0\.0 is still running\. Next: /,
          failure.next,
        ],
      },
      { env: shortPauses },
    );
    // Only failures that may be temporary are retried, with growing pauses.
    const told = (failure.pauses ?? []).map((pause) => `trying again in ${pause} s`);
    expect(log.match(/trying again in \d+ s/g) ?? [], failure.name).toEqual(told);
    expect(Object.keys((await look(instance)).tags)).toEqual([`${instance.image}:v1.0.0`]);
    if (failure.fault === 'down') await registry.up();
  }
});

describe('4: an update from a registry with a password', () => {
  const credentials = { user: 'svc', password: 'hunter2-hunter2' };
  const never: Says = [/hunter2|c3ZjOmh1/];

  test('fails without credentials, and succeeds with credentials although a credential helper is missing', async () => {
    const registry = await startBadRegistry(inject('host').registry, credentials);
    onTestFinished(() => registry.close());
    const config = join(inject('host').directory, `config-${Math.random().toString(36).slice(2, 8)}`);
    await mkdir(config);
    const login = (password: string, more: object = {}) =>
      writeFile(
        join(config, 'config.json'),
        JSON.stringify({ ...JSON.parse(dockerConfig(registry.host, { ...credentials, password })), ...more }),
      );
    await login(credentials.password);
    const instance = await createInstance({
      ...alone,
      registry: registry.host,
      shell: { DOCKER_CONFIG: config },
    });
    const mounted = { volumes: [`${config}:/root/.docker:ro`] };
    const denied = {
      exitCode: 4,
      says: [`${instance.image}:v1.1.0: the registry denied access (wrong or missing credentials)`],
      ends: [
        'failed (pull-denied): nothing was changed; v1.0.0 is still running. Next: ',
        "On the host, log in with docker login. Mount the host's config.json file",
      ],
      never,
    };
    await expectAttempt(instance, toNext, denied);
    await login(credentials.password, {
      credHelpers: { 'other.example': 'gone' },
      currentContext: 'nowhere',
    });
    expectWords(await instance.update(toNext, mounted), {
      exitCode: 0,
      says: [
        'the credential helper "gone" in config.json does not exist in this container, so there are no credentials for other.example',
      ],
      ends: ['updated v1.0.0 → v1.1.0'],
      never,
    });
  });
});

describe('4: an update that cannot start a new container restores the old version', () => {
  const backAgain =
    /^failed \([a-z-]+\): the original files are in place, and v1\.0\.0 is running again\. Next: /;
  const expectBack = async (instance: Instance, args: string[], says: Says) => {
    const before = await look(instance);
    expectWords(await instance.update(args), {
      exitCode: 4,
      says: [...says, 'no container of the new version was started; restoring the old version'],
      ends: [backAgain, hint],
    });
    expect(judgeBroughtBack(before, await look(instance))).toEqual([]);
  };
  const takePort = async (): Promise<number> => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(async () => {
      await new Promise((resolve) => server.close(resolve));
    });
    const address = server.address();
    return typeof address === 'object' && address ? address.port : 0;
  };

  test('if the entrypoint of a floating tag does not exist, with two workers', async () => {
    const instance = await createInstance({
      kind: 'default-latest',
      tag: 'latest',
      up: ['--scale', 'worker=2'],
    });
    await instance.publish('latest', { version: '1.1.0', entrypoint: ['/bin/there-is-no-such-file'] });
    await expectBack(instance, [], [`${instance.image}:latest points to the previous image again`]);
    expect(await judgeUpKeepsVersion(instance, '--scale', 'worker=2')).toEqual([]);
  });

  test('if a port in the new generated file is already in use', async () => {
    const instance = await createInstance({ kind: 'generated' });
    const port = await takePort();
    const files = { 'compose.yaml': generatedCompose('on another port', { port: `${port}` }) };
    await instance.publish('v1.2.0', { version: '1.2.0', files });
    await expectBack(instance, ['--target', 'v1.2.0'], [/address already in use|port is already allocated/]);
    expect(await judgeUpKeepsVersion(instance)).toEqual([]);
  });
});

describe('5: an update is broken and not rolled back after it has started', () => {
  const cases: [name: string, tag: string, says: Says][] = [
    ['is never healthy', 'v1.1.2', ['app-1', 'is unhealthy', 'health check output:']],
    [
      'has a worker that exits at once',
      'v1.1.6',
      ['worker-1', 'svc: cannot read the settings', /, restarted \d+ times/],
    ],
  ];
  test.concurrent.for(cases)('a release that %s', async ([, tag, says], { onTestFinished: finished }) => {
    const instance = await createInstanceFor(finished, { ...alone, publish: [tag] });
    const before = await look(instance);
    const names = `-p ${instance.project}`;
    // On an idle machine, the engine reports a container as unhealthy after about seven seconds. For a container that
    // exits, the updater stops waiting after the fifth restart.
    const result = await instance.update(['--target', tag, '--wait-timeout', tag === 'v1.1.2' ? '20' : '60']);
    expectWords(result, {
      exitCode: 5,
      says: [...says, /last (line|\d+ lines) printed by /],
      ends: [
        'broken (broken): the new version has started, but it is unhealthy; it was not rolled back',
        `docker compose ${names} ps`,
        `docker compose ${names} logs app worker`,
        /docker compose .*up -d --no-deps app worker/,
        'run the update again',
      ],
      never: [/correct horse battery/],
    });
    // Nothing is rolled back: the written files stay, and no other container was changed.
    const written = changeFiles(before.files, { '.env': (text) => text.replace('v1.0.0', tag) });
    const after = await look(instance);
    expect([...judgeBrokenLog(result), ...judgeBroken(before, after, { 'the new ones': written })]).toEqual(
      [],
    );

    if (tag === 'v1.1.2') await expectStillUnwell(instance, tag);
    if (tag !== 'v1.1.6') return;

    // After the publisher has fixed the release, the command in the last line works.
    await instance.publish(tag, {});
    const typed =
      /or run docker compose (.*?) in the compose directory/
        .exec(result.lines.at(-1)?.message ?? '')?.[1]
        ?.split(' ') ?? [];
    await instance.compose('pull', 'app', 'worker');
    await execa('docker', ['compose', ...typed], { cwd: instance.directory, stdin: 'ignore' });
    await instance.waitUntilHealthy();
    expect(await instance.version()).toBe(tag);
  });

  test('a worker whose log cannot be read, without printing the reason as output of the worker', async () => {
    const instance = await createInstance({
      ...alone,
      publish: ['v1.1.6'],
      text: { extra: { worker: 'logging: { driver: none }' } },
    });
    const result = await instance.update(['--target', 'v1.1.6', '--wait-timeout', '60']);
    expectWords(result, {
      exitCode: 5,
      says: [/the log of \S+-worker-1 cannot be read: .*configured logging driver does not support reading/],
      ends: ['broken (broken)'],
      never: [/printed by \S+-worker-1/],
    });
  });

  /** A second run has nothing to update, but still reports the unhealthy containers. */
  async function expectStillUnwell(instance: Instance, version: string): Promise<void> {
    const idsOf = async () => Object.values(await instance.containers()).map(({ id }) => id);
    const ids = await idsOf();
    expectWords(await instance.update(['--target', version, '--wait-timeout', '5']), {
      exitCode: 5,
      says: [/ERROR verify \S+-(?:app|worker)-1 (?:is|has) /, /last (line|\d+ lines) printed by /],
      ends: [
        `broken (unhealthy): nothing was changed; ${version} is already running, but it is unhealthy. Next: Check the output of docker compose`,
        /docker compose .*up -d --no-deps app worker/,
      ],
    });
    expect(await idsOf()).toEqual(ids);
  }
});

test('4: an update fails if a file that the updater only reads is edited during the pull', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const instance = await createInstance({ ...alone, registry: registry.host });
  await instance.publish('v1.1.0', { ballast: 3_000_000 });
  const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
  registry.fail({ kind: 'late', after: 1_500_000, until }, { on: 'blobs' });
  const before = await look(instance);
  const run = instance.startUpdate(toNext);
  await run.waitFor(/pull [1-9]\d?% .* of 3 MB/);
  const name = 'compose.prod.yaml';
  await instance.write(name, `${await instance.read(name)}# mine\n`);
  goOn();
  expectWords(await run.done, {
    exitCode: 4,
    says: [`${join(instance.directory, name)} was changed by another user or process during the update`],
    ends: [
      'failed (file-changed): nothing was changed; v1.0.0 is still running. Next: Make sure that no one edits the files',
    ],
  });
  const edited = { [name]: (text: string) => `${text}# mine\n` };
  expect(judgeUntouched(before, await look(instance), edited)).toEqual([]);
});

test('130 and 143: a signal cancels an update during the pull, but not while containers are being replaced', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const text = { extra: { app: grace, worker: grace } };
  const options = { registry: registry.host, tag: 'canary', publish: [], text };
  const release = { version: '1.1.0-canary.1', ...stuck };
  const instance = await createInstance({ ...options, release });
  const next = { version: '1.1.0-canary.2', ...stuck };
  await instance.publish('canary', { ...next, ballast: 3_000_000 });
  // The pull never completes. The engine reports progress in whole mebibytes.
  registry.fail({ kind: 'late', after: 1_200_000, until: new Promise(() => {}) }, { on: 'blobs' });
  const before = await look(instance);
  const cancelled = instance.startUpdate(['--target', 'canary']);
  await cancelled.waitFor(/pull [1-9]\d?% .* of 3 MB/);
  await cancelled.kill('SIGINT');
  const ends = [
    'cancelled: nothing was changed; v1.1.0-canary.1 is still running. Next: Run the update again when you are ready.',
  ];
  expectWords(await cancelled.done, { exitCode: 130, says: [], ends });
  const after = await look(instance);
  expect(judgeUntouched(before, after)).toEqual([]);
  expect(after.tags).toEqual(before.tags);
  expect(await judgeUpDoesNothing(instance)).toEqual([]);

  registry.fail(null);
  const late = instance.startUpdate(['--target', 'canary']);
  await late.waitFor('recreate stopping worker');
  const sent = late.stop();
  await late.waitFor('was received too late');
  await instance.write('data/go', '');
  await sent;
  expectWords(await late.done, {
    exitCode: 0,
    says: ['SIGTERM was received too late: containers are already being replaced, so the update continues'],
    ends: ['updated v1.1.0-canary.1 → canary (v1.1.0-canary.2)'],
  });
});
