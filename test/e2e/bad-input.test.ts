import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { judgeUntouched } from '../judge/judge.ts';
import type { Says } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { startBadEngine } from '../rig/bad-engine.ts';
import { dockerConfig, startBadRegistry } from '../rig/bad-registry.ts';
import { composeText } from '../rig/compose-text.ts';
import type { UpdaterOptions } from '../rig/updater-run.ts';
import {
  createInstanceFor,
  expectAttempt,
  expectWords,
  keepFiles,
  shareInstance,
} from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// What people and machines hand the updater: a sentence that a tired operator understands, the right code, nothing lost.
// How single files are read is in test/agent/inspect/read-files.test.ts and test/compose.

const toNext = ['--target', 'v1.1.0'];
const refused = /^refused \([a-z-]+\): nothing was changed(, v1\.0\.0 runs on)?\. Next: /;
const path = (instance: Instance, name: string) => join(instance.directory, name);

const instance = shareInstance();

describe('files', () => {
  interface BadFile {
    name: string;
    prepare: (instance: Instance) => Promise<unknown>;
    options?: UpdaterOptions;
    says: (instance: Instance) => Says;
    next: string | RegExp;
  }
  const mend =
    /Mend the file until docker compose -p \S+ -f compose\.prod\.yaml config accepts it, then run the update again\./;
  const yaml = async (i: Instance, from: string | RegExp, to: string) =>
    i.write('compose.prod.yaml', (await i.read('compose.prod.yaml')).replace(from, to));
  const files: BadFile[] = [
    {
      name: 'YAML that cannot be parsed, by file and line',
      prepare: (i) => yaml(i, '    command: worker', '  command: [worker\n    x: y'),
      says: () => [/compose\.prod\.yaml line \d\d: /],
      next: mend,
    },
    {
      name: 'an empty compose file',
      prepare: (i) => i.write('compose.prod.yaml', ''),
      says: () => [/compose rejects the project: .*empty/],
      next: mend,
    },
    {
      name: 'a key that compose does not know',
      prepare: (i) => yaml(i, 'command: app', 'comand: app'),
      says: () => [/compose rejects the project: .*comand/],
      next: mend,
    },
    {
      name: 'a service that depends on one that is not there',
      prepare: (i) => yaml(i, 'depends_on: [db]', 'depends_on: [database]'),
      says: () => [/compose rejects the project: .*"?app"? depends on undefined service "?database"?/],
      next: mend,
    },
    {
      name: 'no .env, where a variable is required',
      prepare: (i) => rm(path(i, '.env')),
      says: () => [/compose rejects the project: .*required variable \w+ is missing/],
      next: /See that \.env is there and sets \w+, then run the update again\./,
    },
    {
      name: 'no .env, where the version comes from it',
      prepare: async (i) => {
        await yaml(i, /\$\{(\w+):\?\}/g, 'set');
        await yaml(i, /127\.0\.0\.1:set/, `127.0.0.1:${i.port}`);
        await rm(path(i, '.env'));
      },
      says: () => ['compose.prod.yaml line 4', 'SVC_VERSION'],
      next: /Set SVC_VERSION in \S+\/\.env, then run the update again\./,
    },
    {
      name: 'an .env that compose cannot parse',
      prepare: async (i) => i.write('.env', `${await i.read('.env')}this is no assignment\n`),
      says: () => [/\.env/, /line 8|this is no assignment/],
      next: mend,
    },
    {
      name: 'a compose file that is gone',
      prepare: async (i) => {
        await i.write('compose.yaml', await i.read('compose.prod.yaml'));
        await rm(path(i, 'compose.prod.yaml'));
      },
      says: (i) => [`${path(i, 'compose.prod.yaml')} does not exist`],
      next: 'Put the file back',
    },
    {
      name: 'an .env that may not be read',
      prepare: async (i) => {
        await chmod(path(i, '.env'), 0o600);
        await chown(path(i, '.env'), 4711, 4711);
      },
      options: { docker: ['--cap-drop', 'ALL'] },
      says: (i) => [`${path(i, '.env')} cannot be read (EACCES)`],
      next: 'where capabilities are dropped, add CHOWN, DAC_OVERRIDE and FOWNER.',
    },
    {
      name: 'a directory that may not be read',
      prepare: async (i) => {
        await chmod(i.directory, 0o700);
        await chown(i.directory, 4711, 4711);
        onTestFinished(() => chown(i.directory, 0, 0));
      },
      options: { docker: ['--cap-drop', 'ALL'] },
      says: (i) => [`${i.directory} cannot be`, 'EACCES'],
      next: 'where capabilities are dropped, add CHOWN, DAC_OVERRIDE and FOWNER.',
    },
    {
      name: 'an .svc-updater that is a file',
      prepare: (i) =>
        i.write('.svc-updater', 'mine\n').catch(async () => {
          await rm(path(i, '.svc-updater'), { recursive: true });
          await i.write('.svc-updater', 'mine\n');
        }),
      says: (i) => [`${path(i, '.svc-updater')} is not the directory that the updater keeps its files in`],
      next: /Move \S+\/\.svc-updater away, then run the update again\./,
    },
  ];
  test.for(files.map((file) => [file.name, file] as const))('%s', async ([, file]) => {
    const { prepare, options, says, next } = file;
    await keepFiles(instance());
    await prepare(instance());
    await expectAttempt(
      instance(),
      toNext,
      { exitCode: 3, says: says(instance()), ends: [refused, next], never: [/correct horse/] },
      options,
    );
  });
});

describe('an engine that hangs', () => {
  const hangs: [name: string, pattern: RegExp, args: string[], says: string][] = [
    ['from the start', /./, [], 'the engine did not answer within 30 s'],
    ['when it is asked for containers', /containers\/json/, [], 'the engine did not answer within 30 s'],
    ['in the pull', /images\/create/, ['--pull-timeout', '5'], 'not pulled within the time allowed'],
  ];
  test.concurrent.for(hangs)('%s', async ([, pattern, args, says], { onTestFinished: finished }) => {
    const socket = join(inject('host').directory, `hangs-${Math.random().toString(36).slice(2, 8)}.sock`);
    const engine = await startBadEngine(socket);
    finished(() => engine.close());
    const instance = await createInstanceFor(finished, alone);
    engine.hang(pattern);
    const { durationMs } = await expectAttempt(
      instance,
      [...toNext, ...args],
      {
        exitCode: 4,
        says: [says],
        ends: [
          /^failed \([a-z-]+\): nothing was changed(, v1\.0\.0 runs on)?\. Next: /,
          /[Rr]un the update again/,
        ],
      },
      { socket },
    );
    // It has waited once.
    expect(durationMs).toBeLessThan(60_000);
  });
});

describe('credentials', () => {
  const credentials = { user: 'svc', password: 'hunter2-hunter2' };
  const never: Says = [/hunter2|c3ZjOmh1/];

  test('refused; then good ones beside a helper that is not there', async () => {
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
      says: [`${instance.image}:v1.1.0: the registry refuses access (wrong or missing credentials)`],
      ends: [
        'failed (pull-denied): nothing was changed, v1.0.0 runs on. Next: ',
        'Log in with docker login on the host and mount its config.json',
      ],
      never,
    };
    await expectAttempt(instance, toNext, denied);
    await login('hunter2-is-old');
    await expectAttempt(instance, toNext, denied, mounted);

    await writeFile(join(config, 'config.json'), '{ "auths": ');
    await expectAttempt(
      instance,
      toNext,
      { ...denied, says: [...denied.says, '/root/.docker/config.json is not JSON'] },
      mounted,
    );

    await login(credentials.password, {
      credHelpers: { 'other.example': 'gone' },
      currentContext: 'nowhere',
    });
    expectWords(await instance.update(toNext, mounted), {
      exitCode: 0,
      says: ['the credential helper "gone" of config.json does not exist here: no login for other.example'],
      ends: ['updated v1.0.0 → v1.1.0'],
      never,
    });
  });
});

describe('bump, without an engine', () => {
  const services = ['--service', 'app', '--service', 'worker'];
  const unconnected = ({ directory }: Instance): UpdaterOptions => ({
    socket: null,
    docker: ['--network', 'none', '-w', directory],
  });
  const bump = (args: string[], options: UpdaterOptions = {}) =>
    instance().update(['bump', ...args], { ...unconnected(instance()), ...options });
  const prod = ['--file', 'compose.prod.yaml', ...services];

  test('changes exactly the version text, once', async () => {
    await keepFiles(instance());
    const before = await look(instance());

    const dry = await bump(['--to', 'v1.1.0', '--dry-run', ...prod]);
    expectWords(dry, {
      exitCode: 0,
      says: [/ -SVC_VERSION=v1\.0\.0$/m, / \+SVC_VERSION=v1\.1\.0$/m],
      ends: ['planned: nothing was changed'],
      never: [/correct horse/],
    });
    expect(judgeUntouched(before, await look(instance()))).toEqual([]);

    expectWords(await bump(['--to', 'v1.1.0', ...prod]), {
      exitCode: 0,
      says: ['.env line 7: v1.0.0 → v1.1.0'],
      ends: [
        'updated to v1.1.0: docker compose -f compose.prod.yaml pull && docker compose -f compose.prod.yaml up -d brings it to life',
      ],
    });
    const after = await look(instance());
    const edited = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
    expect(judgeUntouched(before, after, edited)).toEqual([]);

    expectWords(await bump(['--to', 'v1.1.0', ...prod]), {
      exitCode: 0,
      says: [],
      ends: ['unchanged: nothing to do'],
    });
    expect(judgeUntouched(after, await look(instance()))).toEqual([]);
  });

  test('takes an --env-file for itself, and nothing in it for an option', async () => {
    await keepFiles(instance());
    await instance().write('prod.env', `${await instance().read('.env')}SVC_UPDATER_LOG=xml\n`);
    await expectAttempt(
      instance(),
      ['bump', '--to', 'v1.1.0', '--dry-run', ...prod, '--env-file', 'prod.env'],
      { exitCode: 0, says: [/ \+SVC_VERSION=v1\.1\.0$/m], ends: ['planned: nothing was changed'] },
      unconnected(instance()),
    );
  });

  test('has nothing to do where the pin floats', async () => {
    await keepFiles(instance());
    await instance().write('.env', (await instance().read('.env')).replace('v1.0.0', 'canary'));
    await expectAttempt(
      instance(),
      ['bump', '--to', 'v1.1.0', ...prod],
      {
        exitCode: 0,
        says: ['app floats at canary (SVC_VERSION in .env line 7): nothing to bump'],
        ends: ['unchanged: nothing to do'],
      },
      unconnected(instance()),
    );
  });

  const digest = `sha256:${'a'.repeat(64)}`;
  interface BadBump {
    name: string;
    args: string[];
    prepare?: (instance: Instance) => Promise<unknown>;
    options?: (instance: Instance) => UpdaterOptions;
    exitCode?: number;
    says: (instance: Instance) => Says;
    next: string | RegExp;
  }
  const bad: BadBump[] = [
    {
      name: 'no compose file of a usual name',
      args: ['--to', 'v1.1.0', ...services],
      says: (i) => [`no compose file in ${i.directory}`],
      next: 'Name it with --file, or its directory with --dir.',
    },
    {
      name: 'a file that is not there',
      args: ['--to', 'v1.1.0', '--file', 'compose.yml', ...services],
      says: (i) => [`${path(i, 'compose.yml')} does not exist`],
      next: /--file|Put the file back/,
    },
    {
      name: 'an --env-file that is not there',
      args: ['--to', 'v1.1.0', ...prod, '--env-file', 'prod.env'],
      says: (i) => [`${path(i, 'prod.env')} does not exist`],
      next: /--env-file|Put the file back/,
    },
    {
      name: 'a service that is not there',
      args: ['--to', 'v1.1.0', '--file', 'compose.prod.yaml', '--service', 'web'],
      says: () => ['no service web in compose.prod.yaml'],
      next: 'Its services are app, db, proxy, tunnel, worker: name them with --service.',
    },
    {
      name: 'a digest beside the tag, and no new one',
      args: ['--to', 'v1.1.0', ...prod],
      prepare: async (i) =>
        i.write(
          'compose.prod.yaml',
          composeText({ app: `${i.image}:v1.0.0@${digest}`, parts: inject('host').parts }),
        ),
      says: () => ['compose.prod.yaml line 3', 'also pins the digest, and the new one is not known'],
      next: 'Give the digest of the new release with --digest sha256:….',
    },
    {
      name: 'YAML that cannot be parsed',
      args: ['--to', 'v1.1.0', ...prod],
      prepare: (i) => i.write('compose.prod.yaml', 'services:\n  app: [\n'),
      says: () => [/compose\.prod\.yaml line \d: /],
      next: 'Mend the file until docker compose config accepts it',
    },
    {
      name: 'a directory that cannot be written',
      args: ['--to', 'v1.1.0', ...prod],
      options: () => ({ readOnly: true }),
      says: () => ['lies in a directory that is read-only'],
      next: 'Mount the compose directory writable',
    },
  ];
  test.for(bad.map((each) => [each.name, each] as const))('%s', async ([, each]) => {
    const { args, prepare, options, exitCode = 3, says, next } = each;
    if (prepare) {
      await keepFiles(instance());
      await prepare(instance());
    }
    await expectAttempt(
      instance(),
      ['bump', ...args],
      { exitCode, says: says(instance()), ends: ['nothing was changed', next] },
      { ...unconnected(instance()), ...options?.(instance()) },
    );
  });
});
