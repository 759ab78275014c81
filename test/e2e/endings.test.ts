import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { changeFiles, judgeFiles } from '../judge/files.ts';
import { judgeBroken, judgeBroughtBack, judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { judgeBrokenLog, type Says } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { judgeUpDoesNothing, judgeUpKeepsVersion } from '../judge/operators-up.ts';
import { startBadEngine } from '../rig/bad-engine.ts';
import {
  type BadRegistry,
  type FaultScope,
  type RegistryFault,
  registryFaults,
  startBadRegistry,
} from '../rig/bad-registry.ts';
import { composeText, generatedCompose } from '../rig/compose-text.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { unpublish } from '../rig/registry.ts';
import type { ReleaseOptions } from '../rig/releases.ts';
import { createInstanceFor, expectAttempt, expectWords, shareInstance } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Every exit code of docs/contract.md 1.4: what the log says, the state that the instance is in, and that it is in that state.

const toNext = ['--target', 'v1.1.0'];
const good = { version: 'v1.1.0', changed: { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') } };
const hint = 'then run the update again';
/** A release that stops once there is `data/go`. */
const stuck = { env: { STOP_UNTIL: '/data/go' } };

describe('1, 2, 0', () => {
  const instance = shareInstance();

  test('1: a bug of the updater says what state it left', async () => {
    // A bug, put in from outside: nothing of the product throws this. Node's own modules are spared.
    const throws = "if(/agent\\.mjs/.test(new Error().stack))throw new TypeError('a bug')";
    const bug = encodeURIComponent(
      `const parse=JSON.parse;JSON.parse=(...a)=>{${throws};return parse(...a)}`,
    );
    const before = await look(instance());
    const result = await instance().update(toNext, {
      env: { NODE_OPTIONS: `--import=data:text/javascript,${bug}` },
    });
    expect(result.exitCode, result.log).toBe(1);
    expect(result.log).toContain('TypeError: a bug');
    expect(result.lines.at(-1)?.message).toBe(
      'crashed: a bug in the updater; no container was touched and the files are as they were. Next: Please report the lines above.',
    );
    expect(judgeUntouched(before, await look(instance()))).toEqual([]);
  });

  const mistakes: [name: string, args: string[], env: Record<string, string>, says: Says][] = [
    [
      'options, all of them in one go',
      ['--target', '1 2', '--wait-timeout', 'soon', '--color', '--dir', 'svc', '--accept-drift=yes', 'extra'],
      {},
      [
        '--target is "1 2": it should be a release as the product writes it (v1.2.3, 2025.8.4, 32.0.1-apache)',
        '--wait-timeout is "soon": it should be a whole number of seconds',
        'unknown option --color',
        '--dir is "svc": it should be an absolute path',
        '--accept-drift takes no value',
        '"extra"',
      ],
    ],
    [
      'environment values, beside options',
      ['--project', 'Not A Project'],
      {
        SVC_UPDATER_TARGET: '1.2.3.4.5.6',
        SVC_UPDATER_PULL_TIMEOUT: '0',
        SVC_UPDATER_SERVICES: 'app,app',
        SVC_UPDATER_VERSION_VAR: '1ST',
        SVC_UPDATER_ACCEPT_DRIFT: 'true',
        SVC_UPDATER_LOG: 'xml',
      },
      [
        '--project is "Not A Project"',
        'SVC_UPDATER_TARGET is "1.2.3.4.5.6": it should be a release as the product writes it',
        'SVC_UPDATER_PULL_TIMEOUT is "0"',
        'SVC_UPDATER_SERVICES names a service twice',
        'SVC_UPDATER_VERSION_VAR is "1ST"',
        'SVC_UPDATER_ACCEPT_DRIFT is "true": it should be 1, or 0 for off',
        'SVC_UPDATER_LOG is "xml": it should be line or json',
      ],
    ],
    ['a canary build as a target', ['--target', 'v1.1.0-canary.1'], {}, ['--target is "v1.1.0-canary.1"']],
    [
      'an unknown command',
      ['upgrade'],
      {},
      ['unknown command "upgrade": use update, plan, fetch, rollback, restore-point or bump'],
    ],
    ['bump without what it needs', ['bump'], {}, ['bump needs --to', 'bump needs --service']],
  ];
  test.for(mistakes)('2: %s', async ([, args, env, says]) => {
    // Without a socket: nothing is looked at.
    await expectAttempt(
      instance(),
      args,
      { exitCode: 2, says, ends: ['usage: nothing was looked at. Next: See --help.'] },
      { env, socket: null },
    );
  });

  // The last one: it moves the instance that the others leave as it was.
  test('0: updated, and unchanged when it is done again', async () => {
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

/** The first with every third one after it, and so on. */
const group = <T>(all: readonly T[]): T[][] =>
  [0, 1, 2].map((first) => all.filter((_, at) => at % 3 === first));

describe('4: the pull fails, and nothing has changed', () => {
  interface PullFailure {
    name: string;
    fault: RegistryFault | 'down';
    scope?: FaultScope;
    args?: string[];
    says: string | RegExp;
    next: string | RegExp;
    /** Seconds before each further try, where it may pass; null where the engine decides. */
    pauses?: number[] | null;
  }
  const often = [2, 5, 10];
  // Those of a group come one after the other in one instance, which each must leave as it was.
  const failures: PullFailure[][] = group([
    {
      name: '401',
      fault: registryFaults.denied,
      says: 'the registry refuses access (wrong or missing credentials)',
      next: 'Log in with docker login on the host and mount its config.json',
    },
    {
      name: '403',
      fault: registryFaults.forbidden,
      says: 'the registry refuses access (wrong or missing credentials)',
      next: 'Log in with docker login on the host and mount its config.json',
    },
    {
      name: '404',
      fault: registryFaults.unknown,
      says: 'the registry has no such tag (manifest unknown)',
      next: /See that \S+:v1\.1\.0 is published for linux\/\w+/,
    },
    {
      name: 'connection refused',
      fault: 'down',
      says: 'the registry cannot be reached, after 4 tries',
      next: 'See that this machine reaches the registry',
      pauses: often,
    },
    {
      name: '429',
      fault: registryFaults.busy,
      says: 'the registry asks for patience (429, too many requests), after 3 tries',
      next: 'See that this machine reaches the registry',
      pauses: [5, 20],
    },
    {
      name: '500',
      fault: registryFaults.error,
      says: 'the registry fails (5xx), after 4 tries',
      next: 'See that this machine reaches the registry',
      pauses: often,
    },
    {
      name: 'a blob with a wrong digest',
      fault: registryFaults.corrupt,
      scope: { on: 'blobs' },
      says: 'the registry sent data with a wrong digest, after 2 tries',
      next: 'or whoever keeps the registry or a cache before it to mend it; then run the update again',
      pauses: [2],
    },
    {
      name: "403 in the registry's own words",
      fault: registryFaults.notAllowed,
      says: 'the registry refuses access (wrong or missing credentials)',
      next: 'Log in with docker login on the host and mount its config.json',
    },
    {
      name: 'a blob that is gone',
      fault: registryFaults.gone,
      scope: { on: 'blobs' },
      says: 'the registry has the tag, but not all that belongs to it, after 2 tries',
      next: 'Ask the publisher of the release to push it again',
      pauses: [2],
    },
    {
      name: 'a blob cut short again and again',
      fault: { kind: 'cut', after: 1_000 },
      scope: { on: 'blobs' },
      args: ['--pull-timeout', '8'],
      // Without the containerd store the engine itself tries again, and for long.
      says: /: (not pulled within the time allowed|the connection to the registry broke off, after \d tries)/,
      next: /Run the update again with a longer --pull-timeout|See that this machine reaches the registry/,
      pauses: null,
    },
    {
      name: 'a stall for ever',
      fault: registryFaults.stall,
      scope: { on: 'blobs' },
      args: ['--pull-timeout', '4'],
      says: 'not pulled within the time allowed',
      next: 'Run the update again with a longer --pull-timeout',
    },
  ]);

  test.concurrent.for(failures.map((each) => [each.map(({ name }) => name).join('; '), each] as const))(
    '%s',
    async ([, those], { onTestFinished: finished }) => {
      const registry = await startBadRegistry(inject('host').registry);
      finished(() => registry.close());
      const instance = await createInstanceFor(finished, { ...alone, registry: registry.host });
      // Long enough to be cut short.
      await instance.publish('v1.1.0', { ballast: 4_000 });
      for (const failure of those) await fails(instance, registry, failure);
    },
  );

  async function fails(instance: Instance, registry: BadRegistry, failure: PullFailure): Promise<void> {
    if (failure.fault === 'down') await registry.down();
    else registry.fail(failure.fault, failure.scope);

    const { log, durationMs } = await expectAttempt(instance, [...toNext, ...(failure.args ?? [])], {
      exitCode: 4,
      says: [failure.says, `${instance.image}:v1.1.0`],
      ends: [/^failed \(pull-[a-z]+\): nothing was changed, v1\.0\.0 runs on\. Next: /, failure.next],
    });
    // What will not pass by itself is not tried again; what may is tried with growing pauses.
    const { pauses = [] } = failure;
    const told = pauses?.map((pause) => `trying again in ${pause} s`);
    if (told) expect(log.match(/trying again in \d+ s/g) ?? []).toEqual(told);
    expect(durationMs).toBeLessThan(60_000);
    expect(Object.keys((await look(instance)).tags)).toEqual([`${instance.image}:v1.0.0`]);
    if (failure.fault === 'down') await registry.up();
  }

  test.concurrent('what passes does not end the run', async ({ onTestFinished: finished }) => {
    const registry = await startBadRegistry(inject('host').registry);
    finished(() => registry.close());
    const instance = await createInstanceFor(finished, { ...alone, registry: registry.host });
    registry.fail(registryFaults.error, { on: 'manifests', times: 2 });
    expectWords(await instance.update(toNext), {
      exitCode: 0,
      says: ['the registry fails (5xx); trying again in 2 s'],
      ends: ['updated v1.0.0 → v1.1.0'],
    });
  });

  // What is limited after the first answer comes in the registry's words alone, without a code.
  test.concurrent('a registry that limits is asked ever less, for one image after the other', async ({
    onTestFinished: finished,
  }) => {
    const registry = await startBadRegistry(inject('host').registry);
    finished(() => registry.close());
    const images = (c: LayoutContext) => ({
      app: `${c.image}:\${SVC_VERSION}`,
      worker: `${c.image}:\${SVC_VERSION}-alpine`,
    });
    const instance = await createInstanceFor(finished, {
      registry: registry.host,
      layout: (c) => ({
        files: {
          'compose.yaml': composeText({ ...images(c), parts: c.parts }),
          '.env': `DB_PASSWORD=correct horse battery\nSVC_PORT=${c.port}\nSVC_VERSION=v1.0.0\n`,
        },
        flags: [],
      }),
      up: alone.up,
      publish: ['v1.0.0-alpine', 'v1.1.0', 'v1.1.0-alpine'],
    });
    const before = await look(instance);
    const engine = await startBadEngine(`${instance.directory}.sock`);
    finished(() => engine.close());
    registry.fail(registryFaults.limited, { on: 'blobs' });
    const run = instance.startUpdate(toNext, { socket: engine.socket });
    await run.waitFor('trying again in 5 s');
    registry.fail(registryFaults.limited, { on: 'manifests', method: 'GET' });
    // By the next pull the engine has let go of what compose has.
    let isNext = true;
    engine.fail((asked) => {
      if (isNext && /^POST \S*\/images\/create\?/.test(asked)) {
        isNext = false;
        registry.requests.length = 0;
      }
      return false;
    });
    await run.waitFor('trying again in 20 s');
    // Side by side both tags would be asked for first. One whose parts come now is whole before the other.
    const tags = registry.requests.slice(0, 2).flatMap((asked) => /v1\.1\.0\S*/.exec(asked) ?? []);
    expect([...new Set(tags)], registry.requests.join('\n')).toHaveLength(1);
    expect(registry.requests.length).toBeLessThan(12);
    await run.kill('SIGTERM');
    const { log } = await run.done;
    const patience = 'the registry asks for patience (429, too many requests); trying again in';
    expect(log.split(patience)).toHaveLength(3);
    expect(judgeUntouched(before, await look(instance)), log).toEqual([]);
  });

  const instance = shareInstance(alone);

  test('a tag that does not exist', async () => {
    await expectAttempt(instance(), ['--target', 'v1.9.9'], {
      exitCode: 4,
      says: [`${instance().image}:v1.9.9: the registry has no such tag (manifest unknown)`],
      ends: [
        'failed (pull-unknown): nothing was changed, v1.0.0 runs on.',
        `Next: See that ${instance().image}:v1.9.9 is published for linux/`,
        hint,
      ],
    });
  });

  test('an app that is stopped is not said to run', async () => {
    await instance().publish('v1.1.3');
    await instance().compose('stop', 'app');
    await expectAttempt(instance(), ['--target', 'v1.9.9'], {
      exitCode: 4,
      says: ['app is stopped: it is updated and started'],
      ends: ['failed (pull-unknown): nothing was changed, v1.0.0 is stopped as before. Next: '],
    });
    const before = await look(instance());
    expectWords(await instance().update(['--target', 'v1.1.3']), {
      exitCode: 4,
      says: ['nothing of the new version has started: the old one is brought back'],
      ends: ['failed (recreate-failed): the files are as they were and v1.0.0 is stopped as before. Next: '],
    });
    expect((await instance().containers())[`${instance().project}-app-1`]?.status).not.toBe('running');
    expect(judgeFiles(before.files, (await look(instance())).files)).toEqual([]);
    await instance().compose('up', '-d', ...alone.up);
    await instance().waitUntilHealthy();
  });

  test('no matching platform', async () => {
    await instance().publish('v1.2.0', { platforms: ['linux/riscv64'] });
    await expectAttempt(instance(), ['--target', 'v1.2.0'], {
      exitCode: 4,
      says: [`${instance().image}:v1.2.0: the release has no image for this platform`],
      ends: [
        'failed (pull-platform): nothing was changed, v1.0.0 runs on.',
        'Next: The release has no image for this machine',
      ],
    });
  });

  test('the tag of an image that came before one that failed names what it named before', async () => {
    const own = await createInstance({
      layout: (c) => ({
        files: {
          'compose.yaml': composeText({
            app: `${c.image}:latest`,
            worker: `${c.image}:1.0.0-edge`,
            parts: c.parts,
          }),
          '.env': `DB_PASSWORD=correct horse battery\nSVC_PORT=${c.port}\n`,
        },
        flags: [],
      }),
      tag: 'latest',
      publish: ['1.0.0-edge'],
    });
    // The old one is gone under its tag; the app's has moved.
    const repository = `${own.name}/svc`;
    await unpublish(inject('host').registry, repository, await own.publish('1.0.0-edge'));
    await own.publish('latest', { version: '1.1.0' });
    await expectAttempt(own, [], {
      exitCode: 4,
      says: [/the registry has no such tag/],
      ends: ['failed (pull-unknown): nothing was changed, v1.0.0 runs on. Next: '],
    });
    expect(await judgeUpDoesNothing(own)).toEqual([]);
  });
});

describe('4: recreate fails before anything new has started, and the old version is back', () => {
  const backAgain = /^failed \([a-z-]+\): the files are as they were and v1\.0\.0 runs again\. Next: /;
  const expectBack = async (instance: Instance, args: string[], says: Says) => {
    const before = await look(instance);
    expectWords(await instance.update(args), {
      exitCode: 4,
      says: [...says, 'nothing of the new version has started: the old one is brought back'],
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

  test('an entrypoint that does not exist', async () => {
    const instance = await createInstance({ publish: ['v1.1.3'] });
    await expectBack(instance, ['--target', 'v1.1.3'], ['there-is-no-such-file']);
    expect(await judgeUpKeepsVersion(instance)).toEqual([]);
  });

  test('while somebody saves a file: it stays theirs, and the last line says what it starts', async () => {
    const instance = await createInstance({
      ...alone,
      release: stuck,
      publish: ['v1.1.3'],
    });
    const before = await look(instance);
    const run = instance.startUpdate(['--target', 'v1.1.3']);
    await run.waitFor('recreate stopping worker');
    await instance.write('.env', `${await instance.read('.env')}# mine\n`);
    await instance.write('data/go', '');
    expectWords(await run.done, {
      exitCode: 4,
      says: ['nothing of the new version has started: the old one is brought back'],
      ends: [
        'failed (recreate-failed): the other files are as they were and v1.0.0 runs again; ',
        `${join(instance.directory, '.env')} was saved by somebody meanwhile and left alone: the next docker compose up starts ${instance.image}:v1.1.3. `,
        hint,
      ],
    });
    const edited = { '.env': (text: string) => `${text.replace('v1.0.0', 'v1.1.3')}# mine\n` };
    expect(judgeBroughtBack(before, await look(instance), edited)).toEqual([]);
  });

  test('an entrypoint that does not exist, behind a floating tag, with two workers', async () => {
    const instance = await createInstance({
      kind: 'default-latest',
      tag: 'latest',
      up: ['--scale', 'worker=2'],
    });
    await instance.publish('latest', { version: '1.1.0', entrypoint: ['/bin/there-is-no-such-file'] });
    await expectBack(instance, [], [`${instance.image}:latest names the image from before again`]);
    expect(await judgeUpKeepsVersion(instance, '--scale', 'worker=2')).toEqual([]);
  });

  test('a taken port in the new generated file', async () => {
    const instance = await createInstance({ kind: 'generated' });
    const port = await takePort();
    const files = { 'compose.yaml': generatedCompose('on another port', { port: `${port}` }) };
    await instance.publish('v1.2.0', { version: '1.2.0', files });
    await expectBack(instance, ['--target', 'v1.2.0'], [/address already in use|port is already allocated/]);
    expect(await judgeUpKeepsVersion(instance)).toEqual([]);
  });

  test("a taken port among one's own edits", async () => {
    const instance = await createInstance();
    const port = await takePort();
    const text = await instance.read('compose.prod.yaml');
    await instance.write('compose.prod.yaml', text.replace(":8080']", `:8080', '127.0.0.1:${port}:9090']`));
    await expectBack(instance, toNext, [/address already in use|port is already allocated/]);
  });
});

test('4: the edit cannot be proven, and nothing is written', async () => {
  const instance = await createInstance({
    ...alone,
    files: ({ parts }) => ({
      'extra-v1.0.0.yaml': `services: {extra: {image: '${parts}/tunnel:1', command: idle}}\n`,
      'extra-v1.1.0.yaml': `services: {extra: {image: '${parts}/proxy:1', command: idle}}\n`,
    }),
  });
  const text = await instance.read('compose.prod.yaml');
  await instance.write(
    'compose.prod.yaml',
    text.replace('services:\n', `include:\n  - extra-\${SVC_VERSION}.yaml\nservices:\n`),
  );
  await expectAttempt(instance, toNext, {
    exitCode: 4,
    says: [
      'the edit would change more than the version: nothing was written',
      /services\.extra\.image: .*tunnel:1.* → .*proxy:1/,
    ],
    ends: ['failed (proof-failed): nothing was changed, v1.0.0 runs on.', 'Next: Change the version by hand'],
  });
});

describe('5: the new version has started and is not well', () => {
  const password = 'correct horse battery';
  const talkative = (exit: string): ReleaseOptions => ({
    entrypoint: [
      '/bin/sh',
      '-c',
      `echo "cannot reach postgres://svc:$DB_PASSWORD@db/svc"; echo "password is $DB_PASSWORD"; ${exit}`,
    ],
  });
  const cases: [name: string, tag: string, release: ReleaseOptions | undefined, says: Says][] = [
    [
      'exits at once',
      'v1.1.1',
      undefined,
      ['app-1', 'svc: cannot read the settings', /, restarted \d+ times/],
    ],
    ['is never healthy', 'v1.1.2', undefined, ['app-1', 'is unhealthy', 'its health check said:']],
    ['crashes in a loop', 'v1.1.4', undefined, ['app-1', 'svc: lost the database']],
    ['has a worker that exits at once', 'v1.1.6', undefined, ['worker-1', 'svc: cannot read the settings']],
    [
      'prints secrets',
      'v1.3.0',
      talkative('exit 3'),
      ['cannot reach postgres://***@db/svc', 'password is ***', 'exit code 3)'],
    ],
  ];
  test.concurrent.for(cases)('one that %s', async ([, tag, release, says], { onTestFinished: finished }) => {
    const others = tag === 'v1.1.1' || tag === 'v1.1.6' ? {} : alone;
    const instance = await createInstanceFor(finished, { ...others, publish: [] });
    await instance.publish(tag, release);
    const before = await look(instance);
    const names = `-p ${instance.project}`;
    // The engine calls one unhealthy after some seven seconds, on a quiet machine.
    const result = await instance.update(['--target', tag, '--wait-timeout', tag === 'v1.1.2' ? '25' : '7']);
    expectWords(result, {
      exitCode: 5,
      says: [...says, /the last (line|\d+ lines) of /],
      ends: [
        'broken (broken): the new version has started and is not well; nothing was put back',
        `docker compose ${names} ps`,
        `docker compose ${names} logs app worker`,
        /docker compose .*up -d --no-deps app worker/,
        'run the update again',
      ],
      never: [new RegExp(password)],
    });
    // Forward only: what was written stays, and nobody else was touched.
    const written = changeFiles(before.files, { '.env': (text) => text.replace('v1.0.0', tag) });
    const after = await look(instance);
    expect([...judgeBrokenLog(result), ...judgeBroken(before, after, { 'the new ones': written })]).toEqual(
      [],
    );

    if (/^v1\.1\.[246]$/.test(tag)) await expectStillUnwell(instance, ['--target', tag], tag);

    // The publisher mends the release; what the last line said to type works.
    await instance.publish(tag, {});
    const typed =
      /or: docker compose (.*?), from/.exec(result.lines.at(-1)?.message ?? '')?.[1]?.split(' ') ?? [];
    await instance.compose('pull', 'app', 'worker');
    await execa('docker', ['compose', ...typed], { cwd: instance.directory, stdin: 'ignore' });
    await instance.waitUntilHealthy();
    expect(await instance.version()).toBe(tag);
  });

  /** A second run has nothing to do, and does not call that well. */
  async function expectStillUnwell(instance: Instance, args: string[], version: string): Promise<void> {
    const idsOf = async () => Object.values(await instance.containers()).map(({ id }) => id);
    const ids = await idsOf();
    expectWords(await instance.update([...args, '--wait-timeout', '5']), {
      exitCode: 5,
      says: [/ERROR verify \S+-(?:app|worker)-1 (?:is|has) /, /the last (line|\d+ lines) of /],
      ends: [
        `broken (not-well): nothing was changed: ${version} runs already and is not well. Next: See docker compose`,
        /docker compose .*up -d --no-deps app worker/,
      ],
    });
    expect(await idsOf()).toEqual(ids);
  }

  test.concurrent('one that crashes in a loop behind a floating tag, and the next one, which is never healthy', async (context) => {
    const instance = await createInstanceFor(context.onTestFinished, {
      ...alone,
      kind: 'default-latest',
      tag: 'latest',
      publish: [],
    });
    await instance.publish('latest', { version: '1.1.0', env: { FAULT_APP: 'crash' } });
    // Five restarts are enough to tell.
    const { exitCode, log } = await instance.update();
    expect(exitCode, log).toBe(5);
    // One that was waited for to the end of --wait-timeout says for how long.
    expect(log).not.toContain('after 300 s');
    await expectStillUnwell(instance, [], 'v1.1.0');
    await instance.publish('latest', { version: '1.2.0', env: { FAULT_APP: 'unhealthy' } });
    expect((await instance.update(['--wait-timeout', '7'])).exitCode).toBe(5);
    await expectStillUnwell(instance, [], 'v1.2.0');
  });

  test.concurrent('one that may end is not waited for', async ({ onTestFinished: finished }) => {
    const instance = await createInstanceFor(finished, { ...alone, publish: ['v1.1.1'] });
    const text = await instance.read('compose.prod.yaml');
    await instance.write('compose.prod.yaml', text.replaceAll('restart: always', `restart: 'no'`));
    await instance.compose('up', '-d', ...alone.up);
    const result = await instance.update(['--target', 'v1.1.1']);
    expectWords(result, {
      exitCode: 5,
      says: ['app-1 is exited (exit code 1)', 'svc: cannot read the settings'],
      ends: ['broken (broken): the new version has started and is not well'],
    });
    // It would say for how long it was waited for.
    expect(result.log).not.toContain('after 300 s');
    // Another run brings nothing newer, and has nothing to go back to.
    expectWords(await instance.update(['--target', 'v1.1.1']), {
      exitCode: 5,
      says: ['app-1 is exited (exit code 1)'],
      ends: ['broken (broken): the new version has started and is not well'],
      never: [/nothing of the new version/],
    });
  });

  test.concurrent('a slow one that becomes healthy in time is none of them', async (context) => {
    const instance = await createInstanceFor(context.onTestFinished, { ...alone, publish: [] });
    await instance.publish('v1.1.0', { env: { READY_WHEN: 'well' } });
    const before = await look(instance);
    const run = instance.startUpdate([...toNext, '--wait-timeout', '60']);
    await run.waitFor(/INFO {2}verify waiting for .*app-1: is .*\(\d+ s\)/);
    for (const service of ['app', 'worker']) await instance.write(`data/well-${service}`, '');
    const result = await run.done;
    expectWords(result, {
      exitCode: 0,
      says: [],
      ends: ['updated v1.0.0 → v1.1.0'],
    });
    expect(judgeUpdated(before, await look(instance), good)).toEqual([]);
  });
});

describe.concurrent('4, somebody edits a file during the pull', () => {
  test.for([
    ['that is only read', {}, 'v1.1.0', toNext],
    ['where none is to be written', { kind: 'default-latest', tag: 'latest' }, 'latest', []],
  ] as const)('%s', async ([, options, tag, args], { onTestFinished: finished }) => {
    const registry = await startBadRegistry(inject('host').registry);
    finished(() => registry.close());
    const instance = await createInstanceFor(finished, { ...alone, registry: registry.host, ...options });
    await instance.publish(tag, { version: '1.1.0', ballast: 3_000_000 });
    const { promise: until, resolve: goOn } = Promise.withResolvers<void>();
    registry.fail({ kind: 'late', after: 1_500_000, until }, { on: 'blobs' });
    const before = await look(instance);
    const run = instance.startUpdate([...args]);
    await run.waitFor(/pull [1-9]\d?% .* of 3 MB/);
    const name = Object.keys(before.files).find((file) => /^compose.*\.yaml$/.test(file)) ?? '';
    await instance.write(name, `${await instance.read(name)}# mine\n`);
    goOn();
    expectWords(await run.done, {
      exitCode: 4,
      says: [`${join(instance.directory, name)} was changed by somebody else during the update`],
      ends: [
        'failed (file-changed): nothing was changed, v1.0.0 runs on. Next: Let nobody edit the files meanwhile',
      ],
    });
    const edited = { [name]: (text: string) => `${text}# mine\n` };
    expect(judgeUntouched(before, await look(instance), edited)).toEqual([]);
  });
});

describe('130 and 143', () => {
  const signals: [
    name: string,
    exitCode: number,
    send: (run: ReturnType<Instance['startUpdate']>) => Promise<void>,
  ][] = [
    ['docker kill -s INT', 130, (run) => run.kill('SIGINT')],
    ['docker stop', 143, (run) => run.stop()],
  ];
  test('during the pull: everything is put back', async () => {
    const registry = await startBadRegistry(inject('host').registry);
    onTestFinished(() => registry.close());
    const instance = await createInstance({ registry: registry.host, kind: 'generated', tag: 'canary' });
    await instance.publish('canary', { version: '1.1.0-canary.2', ballast: 3_000_000 });
    // No pull ends by itself; the second goes on where the first was at. An engine tells of whole mebibytes.
    registry.fail({ kind: 'late', after: 1_200_000, until: new Promise(() => {}) }, { on: 'blobs' });
    const before = await look(instance);
    for (const [name, exitCode, send] of signals) {
      const run = instance.startUpdate(['--target', 'canary']);
      await run.waitFor(/pull [1-9]\d?% .* of 3 MB/);
      const sent = performance.now();
      await send(run);
      expectWords(await run.done, {
        exitCode,
        says: [],
        ends: [
          'cancelled: nothing was changed, v1.1.0-canary.1 runs on. Next: Run the update again when it suits.',
        ],
      });
      expect(performance.now() - sent, name).toBeLessThan(60_000);
      const after = await look(instance);
      expect(judgeUntouched(before, after), name).toEqual([]);
      expect(after.tags, name).toEqual(before.tags);
    }
    expect(await judgeUpDoesNothing(instance)).toEqual([]);
  });

  test('during recreate: the update goes on to its end', async () => {
    const instance = await createInstance({ release: stuck, publish: [] });
    for (const [number, [, exitCode, send]] of signals.entries()) {
      const [from, to] = [`v1.${number}.0`, `v1.${number + 1}.0`];
      await instance.publish(to, stuck);
      const before = await look(instance);
      await rm(join(instance.directory, 'data/go'), { force: true });
      const run = instance.startUpdate(['--target', to]);
      await run.waitFor('recreate stopping worker');
      const sent = send(run);
      await run.waitFor('too late to cancel');
      await instance.write('data/go', '');
      await sent;
      expectWords(await run.done, {
        exitCode: 0,
        says: [
          `${exitCode === 130 ? 'SIGINT' : 'SIGTERM'}: too late to cancel, the update goes on to its end`,
        ],
        ends: [`updated ${from} → ${to}`],
      });
      const changed = { '.env': (text: string) => text.replace(from, to) };
      expect(judgeUpdated(before, await look(instance), { version: to, changed })).toEqual([]);
    }
  });
});
