import { existsSync } from 'node:fs';
import { chown, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { mountFlags } from '../../src/progress/advice.ts';
import { type ExpectedUpdate, judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { type ExpectedLog, judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { dockerConfig, startBadRegistry } from '../rig/bad-registry.ts';
import { type ComposeText, composeText, generatedCompose } from '../rig/compose-text.ts';
import { type ContainerInspection, findContainers } from '../rig/engine-api.ts';
import { buildImage } from '../rig/image.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { push } from '../rig/registry.ts';
import type { UpdaterOptions } from '../rig/updater-run.ts';
import { expectAttempt } from './support/attempt.ts';
import { findUnchanged, runUpdater, updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Where the compose directory is mounted, how the instance was started, and what lives in it.

const bumped = (text: string) => text.replaceAll('v1.0.0', 'v1.1.0');
const toNext = ['--target', 'v1.1.0'];
const good = { version: 'v1.1.0', changed: { '.env': bumped } };

/** The update of an instance after `number` others: from v1.<number>.0 to the next release, which is published. */
async function nextUpdate(instance: Instance, number: number, file = '.env') {
  const [from, version] = [`v1.${number}.0`, `v1.${number + 1}.0`];
  await instance.publish(version);
  const changed = { [file]: (text: string) => text.replaceAll(from, version) };
  return { args: ['--target', version], good: { version, changed }, from, version };
}

/** Pinned by SVC_VERSION in `.env`, with changes to the compose file. */
const layout =
  (changes: Partial<ComposeText>, edit = (text: string) => text, files: Record<string, string> = {}) =>
  (c: LayoutContext) => ({
    files: {
      'compose.yaml': edit(composeText({ app: `${c.image}:\${SVC_VERSION}`, parts: c.parts, ...changes })),
      '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
      ...files,
    },
    flags: [],
  });

const running = async (instance: Instance, service: string) =>
  Object.values(await instance.containers()).filter(
    (container) => container.service === service && container.status === 'running',
  ).length;

const environment = async (instance: Instance, service: string) => {
  const found = await findContainers(instance.project);
  return found
    .find(({ Config }) => Config.Labels['com.docker.compose.service'] === service)
    ?.Config.Env.sort();
};

describe('where the directory is mounted and how the instance was started', () => {
  /** A run from where the instance stands, which leaves nothing in the container's own paths on the host. */
  interface Leg extends ExpectedLog {
    args?: (instance: Instance) => string[];
    run?: (instance: Instance) => UpdaterOptions;
  }
  interface Case extends Partial<ExpectedUpdate> {
    name: string;
    instance: InstanceOptions;
    /** The file with the pin. Default `.env`. */
    file?: string;
    legs: Leg[];
    /** What comes to an end there. */
    last?: (instance: Instance) => Promise<unknown>;
  }
  const parent = (): UpdaterOptions => {
    const { directory } = inject('host');
    return { mount: null, volumes: [`${directory}:${directory}`] };
  };
  const cases: Case[] = [
    {
      name: 'a parent directory, by --project; a parent directory elsewhere, by --dir',
      instance: {},
      legs: [
        { run: parent, args: ({ project }) => ['--project', project] },
        {
          run: () => ({ mount: null, volumes: [`${inject('host').directory}:/srv`] }),
          args: ({ name }) => ['--dir', `/srv/${name}`],
          says: ['is mounted at /srv'],
        },
      ],
    },
    {
      name: 'several files and a project of its own; elsewhere',
      instance: { kind: 'two-files', project: 'prod' },
      file: 'compose.site.yaml',
      legs: [
        { says: [/project \S+-prod in /] },
        { run: () => ({ mount: '/mnt/some where' }), says: [/is mounted at \/mnt\/some where\b/] },
      ],
    },
    {
      name: 'several env files and a profile; one of the files is gone',
      instance: {
        kind: 'env-file',
        files: (c) => ({
          'compose.yaml': composeText({
            app: `${c.image}:\${SVC_VERSION}`,
            parts: c.parts,
            // The app depends on the db, which is there by another profile.
            extra: { app: 'profiles: [web]', worker: 'profiles: [web, jobs]', db: 'profiles: [local]' },
          }),
        }),
        flags: ['--profile', 'web', '--profile', 'local'],
      },
      file: 'prod.env',
      legs: [{}],
      last: async (instance) => {
        const path = join(instance.directory, 'prod.env');
        await rm(path);
        await expectAttempt(instance, ['--target', 'v1.2.0'], {
          exitCode: 3,
          says: [`${path} does not exist`],
          ends: [/^refused \(compose-invalid\): nothing was changed\b/, 'Put the file back'],
        });
      },
    },
    {
      name: 'a project name and a profile in .env, and another profile beside it',
      instance: {
        layout: layout({
          extra: { app: 'profiles: [web]', worker: 'profiles: [web]', db: 'profiles: [local]' },
        }),
        project: 'prod',
        // They replace the variable.
        flags: ['--profile', 'web', '--profile', 'local'],
        env: 'COMPOSE_PROFILES=web\nCOMPOSE_PROJECT_NAME=another\n',
      },
      legs: [{}],
    },
  ];
  test('a directory with all that shells and labels mind in its path, of an owner who gets what is created', async () => {
    const folder = `it's "my", $HOME, ü,`;
    const instance = await createInstance({ ...alone, folder, project: 'prod' });
    const { directory } = instance;
    await chown(directory, 1000, 1001);
    await updateWell(instance, toNext, good);
    const owners = await readdir(join(directory, '.svc-updater'), { recursive: true });
    for (const path of ['', ...owners.filter((name) => !name.endsWith('/.env'))]) {
      const { uid, gid } = await stat(join(directory, '.svc-updater', path));
      expect({ path, uid, gid }).toEqual({ path, uid: 1000, gid: 1001 });
    }
    const shell = await execa('sh', ['-c', `echo ${mountFlags(directory)}`]);
    expect(shell.stdout).toBe(`-v ${directory}:${directory}`);
  });

  test.for(cases)('$name', async ({ instance: options, file, legs, last }) => {
    const instance = await createInstance({ publish: [], ...options });
    for (const [number, { args = () => [], run, ...says }] of legs.entries()) {
      const next = await nextUpdate(instance, number, file);
      await updateWell(
        instance,
        [...next.args, ...args(instance)],
        { ...next.good, ...says },
        run?.(instance),
      );
    }
    await last?.(instance);
    for (const path of ['/mnt/some where', `/srv/${instance.name}`]) expect(existsSync(path)).toBe(false);
  });

  test('elsewhere, generated', async () => {
    const instance = await createInstance({ kind: 'generated' });
    const changed = { '.env': bumped, 'compose.yaml': generatedCompose('v1.1.0') };
    const says = [/is mounted at \/compose\b/];
    await updateWell(instance, toNext, { ...good, changed, says }, { mount: '/compose' });
    expect(existsSync('/compose')).toBe(false);
  });

  test('a symlinked working directory, by --project', async () => {
    const instance = await createInstance(alone);
    const link = `${instance.directory}.link`;
    await symlink(instance.directory, link);
    const flags = [
      '--project-directory',
      link,
      '-p',
      instance.project,
      '-f',
      join(link, 'compose.prod.yaml'),
    ];
    await execa('docker', ['compose', ...flags, 'up', '-d', ...alone.up], { stdin: 'ignore' });
    await instance.waitUntilHealthy();
    await updateWell(instance, [...toNext, '--project', instance.project], good);
    const [app] = await findContainers(`${instance.project}-app-1`);
    expect(app?.Config.Labels['com.docker.compose.project.working_dir']).toBe(link);
    expect(app?.Mounts.map(({ Source }) => Source)).toEqual([`${link}/data`]);
  });

  test('a linked .env is written through to what it points at', async () => {
    const instance = await createInstance(alone);
    const elsewhere = join(inject('host').directory, `${instance.name}.conf`);
    await mkdir(join(instance.directory, 'conf'));
    await mkdir(elsewhere);
    await rename(join(instance.directory, '.env'), join(instance.directory, 'conf', 'prod.env'));
    await symlink('conf/prod.env', join(instance.directory, '.env'));
    await updateWell(instance, toNext, { version: 'v1.1.0', changed: { 'conf/prod.env': bumped } });
    expect((await instance.snapshot()).files['.env']).toMatchObject({ kind: 'link', text: 'conf/prod.env' });

    await instance.publish('v1.2.0');
    const outside = join(elsewhere, 'svc.env');
    await writeFile(outside, await instance.read('.env'));
    await rm(join(instance.directory, '.env'));
    await symlink(outside, join(instance.directory, '.env'));
    const mounted = { volumes: [`${elsewhere}:${elsewhere}`] };
    await updateWell(instance, ['--target', 'v1.2.0'], { version: 'v1.2.0' }, mounted);
    expect(await readdir(elsewhere)).toEqual(['svc.env']);
    expect(await readFile(outside, 'utf8')).toMatch(/^SVC_VERSION=v1\.2\.0$/m);
  });

  test('.env with CRLF, edited and appended to', async () => {
    const instance = await createInstance({
      ...alone,
      kind: 'default-latest',
      tag: 'latest',
      publish: ['v1.1.0'],
    });
    await instance.publish('canary', { version: '1.1.0-canary.1' });
    await instance.write('.env', (await instance.read('.env')).replaceAll('\n', '\r\n'));
    await updateWell(instance, ['--target', 'canary'], {
      version: 'v1.1.0-canary.1',
      changed: { '.env': (text) => `${text}SVC_VERSION=canary\r\n` },
    });
    await updateWell(instance, toNext, {
      version: 'v1.1.0',
      changed: { '.env': (text) => text.replace('=canary\r\n', '=v1.1.0\r\n') },
    });
  });
});

describe('files that lead to others', () => {
  const linked: {
    name: string;
    edited: string;
    warns?: RegExp[];
    files: (c: LayoutContext, text: string, image: string) => Record<string, string>;
  }[] = [
    {
      name: 'include with a directory and an env file of its own',
      edited: 'parts/versions.env',
      files: (c, text, image) => ({
        'compose.yaml': [
          `x-app: &app {image: "${c.image}:v0.0.1"}`,
          'include:',
          '  - path: parts/rest.yaml # all of it',
          '    project_directory: .',
          '    env_file: parts/versions.env',
          '',
        ].join('\n'),
        'parts/rest.yaml': `x-image: &image\n  image: ${c.image}:\${V}\n${text.replaceAll(image, '<<: *image')}`,
        'parts/versions.env': `V=${c.tag} # both\n`,
      }),
    },
    {
      name: 'extends in a file that is included',
      edited: 'a/b/svc.yaml',
      files: (_, text, image) => ({
        'compose.yaml': 'include: [rest.yaml]\n',
        'rest.yaml': text.replaceAll(image, 'extends: { file: a/more.yaml, service: svc }'),
        'a/more.yaml': 'services:\n  svc:\n    extends: { file: b/svc.yaml, service: svc }\n',
        'a/b/svc.yaml': `services:\n  svc:\n    ${image}\n`,
      }),
    },
    {
      name: 'extends',
      edited: 'base/svc.yaml',
      // Its env file brings a variable that none before it has.
      warns: ['app', 'worker'].map((service) => new RegExp(`^${service}: .*variable MODE would be added`)),
      files: (_, text, image) => ({
        'compose.yaml': text.replaceAll(image, 'extends: { file: base/svc.yaml, service: svc }'),
        'base/svc.yaml': `services:\n  svc:\n    ${image}\n    env_file: [svc.env]\n`,
        'base/svc.env': 'MODE=calm\n',
        'base/other.txt': 'beside it\n',
      }),
    },
  ];
  test('one after the other in one instance, each at what runs', async () => {
    const layoutOf = ({ files }: (typeof linked)[number], c: LayoutContext) => ({
      ...files(c, composeText({ app: `${c.image}:${c.tag}`, parts: c.parts }), `image: ${c.image}:${c.tag}`),
      '.env': `DB_PASSWORD=12345678\nSVC_PORT=${c.port}\n`,
    });
    const [first] = linked;
    if (first === undefined) throw new Error('there is no layout');
    const instance = await createInstance({
      layout: (c) => ({ files: layoutOf(first, c), flags: [] }),
      publish: [],
    });
    const { parts } = inject('host');
    for (const [number, each] of linked.entries()) {
      const next = await nextUpdate(instance, number, each.edited);
      const context = { image: instance.image, parts, port: instance.port, tag: next.from };
      for (const [path, text] of Object.entries(layoutOf(each, context))) await instance.write(path, text);
      const { log } = await updateWell(instance, next.args, { ...next.good, warns: each.warns ?? [] });
      expect(log, each.name).toContain(`${each.edited} line `);
    }
  });
});

describe('what runs', () => {
  test('replicas are kept, and a stopped one stays stopped', async () => {
    const instance = await createInstance({ up: ['--scale', 'worker=3'] });
    await updateWell(instance, toNext, { ...good, says: ['worker has 3 containers'] });
    expect(await running(instance, 'worker')).toBe(3);

    await execa('docker', ['stop', `${instance.name}-worker-2`]);
    const next = await nextUpdate(instance, 1);
    await updateWell(instance, next.args, {
      ...next.good,
      says: [/worker-2 is stopped and left stopped/],
    });
    expect(await running(instance, 'worker')).toBe(2);
  });

  test('there is no worker', async () => {
    const instance = await createInstance({ up: ['--no-deps', 'app'], layout: layout({ worker: null }) });
    await updateWell(instance, toNext, { ...good, moved: ['app'], says: [/inspect app runs v1\.0\.0/] });
  });

  test('the worker was never started', async () => {
    const instance = await createInstance({ up: ['app', 'proxy', 'tunnel'] });
    await updateWell(instance, toNext, {
      ...good,
      moved: ['app'],
      says: ['worker has no container: it is left that way'],
    });
  });

  test('a stopped worker is updated, left stopped, and named', async () => {
    const instance = await createInstance(alone);
    await instance.compose('stop', 'worker');
    await updateWell(instance, toNext, {
      ...good,
      says: [/worker is stopped: it is updated and left stopped/],
    });
    const worker = (await instance.containers())[`${instance.name}-worker-1`];
    expect(worker?.status).not.toBe('running');
    expect(worker?.reference).toBe(`${instance.image}:v1.1.0`);
    expect(await instance.boots()).not.toContain('worker v1.1.0');
    const { lines } = await findUnchanged(instance, toNext);
    expect(lines.at(-1)?.message).toContain('unchanged: app runs v1.1.0 already, worker is stopped; nothing');
  });

  test('services of other names, by options and by environment', async () => {
    const rename = (text: string) => text.replace('  app:\n', '  web:\n').replace('  worker:\n', '  jobs:\n');
    const instance = await createInstance({ layout: layout({}, rename) });
    const moved = ['web', 'jobs'];
    await updateWell(instance, [...toNext, '--service', 'web', '--service', 'jobs'], { ...good, moved });
    const says = ['web and jobs run v1.1.0 already'];
    await findUnchanged(instance, toNext, { says }, { env: { SVC_UPDATER_SERVICES: 'web,jobs' } });
  });

  test('what lives in a namespace of the app or the worker is recreated with it, and works', async () => {
    const instance = await createInstance({
      layout: (c) =>
        layout({
          extra: {
            sidecar: `image: ${c.parts}/tunnel:1\ncommand: tunnel\nrestart: always\nnetwork_mode: service:app`,
            watcher: `image: ${c.parts}/tunnel:1\ncommand: tunnel\nrestart: always\npid: service:worker`,
          },
        })(c),
    });
    await updateWell(instance, toNext, {
      ...good,
      recreated: ['app', 'worker', 'sidecar', 'watcher'],
      says: [/sidecar.*namespace/, /watcher.*namespace/],
    });
    const inSidecar = (...command: string[]) =>
      execa('docker', ['exec', `${instance.name}-sidecar-1`, ...command]).then(({ stdout }) => stdout);
    expect(await inSidecar('/bin/wget', '-qO-', 'http://127.0.0.1:8080/version')).toBe('v1.1.0');
    const inWatcher = await execa('docker', [
      'exec',
      `${instance.name}-watcher-1`,
      '/bin/cat',
      '/proc/1/cmdline',
    ]);
    expect(inWatcher.stdout).toContain('worker');
  });

  test('a worker that depends on a healthy app starts after it; a proxy that does is left alone, and named', async () => {
    const instance = await createInstance({
      layout: layout({
        extra: {
          worker: 'depends_on: { app: { condition: service_healthy } }',
          proxy: 'depends_on: { app: { condition: service_started, restart: true } }',
        },
      }),
      publish: ['v1.1.5'],
    });
    await updateWell(instance, ['--target', 'v1.1.5'], {
      version: 'v1.1.5',
      changed: { '.env': (text) => text.replace('v1.0.0', 'v1.1.5') },
      says: ['waiting for app, which worker depends on'],
      warns: [
        /^left alone, although depends_on says restart: true: proxy; docker compose .* restart proxy does it$/,
      ],
    });
    const now = await instance.containers();
    const started = (service: string) => Date.parse(now[`${instance.name}-${service}-1`]?.startedAt ?? '');
    // v1.1.5 takes 4 s to become healthy.
    expect(started('worker') - started('app')).toBeGreaterThan(3900);
  });

  test('a worker that stops slowly does not keep the app away', async () => {
    const instance = await createInstance({
      layout: layout({
        extra: { worker: 'stop_grace_period: 10m' },
        workerEnvironment: { STOP_UNTIL: '/data/stop-now' },
      }),
    });
    const before = await look(instance);
    const isOn = ({ Config, State }: ContainerInspection) => Config.Cmd?.[0] === 'app' && State.Running;
    const app = async () => (await findContainers(instance.project)).find(isOn)?.Id;
    const old = await app();
    const run = instance.startUpdate(toNext);
    await run.waitFor('recreate stopping worker');
    // Whatever the updater may do before the worker has stopped, it has done when it says that it waits.
    await run.waitFor(/waiting for \S+-worker-1 to stop/);
    expect([await app(), await instance.version()]).toEqual([old, 'v1.0.0']);
    await instance.write('data/stop-now', '');
    const result = await run.done;
    const facts = [...judgeOutcome(result, ['updated']), ...judgeUpdated(before, await look(instance), good)];
    expect(facts, result.log).toEqual([]);
  });
});

describe('the environment', () => {
  test("the updater's own never reaches compose", async () => {
    const passThrough = (text: string) =>
      text.replaceAll('      SVC_HOST:', '      HTTP_PROXY:\n      SVC_HOST:');
    const instance = await createInstance({ ...alone, layout: layout({}, passThrough) });
    const before = await environment(instance, 'app');
    await updateWell(instance, toNext, good, {
      env: {
        SVC_VERSION: 'v9.9.9',
        SVC_HOST: 'evil.example.org',
        HTTP_PROXY: 'http://127.0.0.1:1',
        COMPOSE_FILE: '/nowhere/compose.yaml',
        COMPOSE_PROJECT_NAME: 'another',
        COMPOSE_PROFILES: 'other',
        DOCKER_DEFAULT_PLATFORM: 'linux/riscv64',
        DOCKER_CONTEXT: 'nowhere',
      },
    });
    expect(before?.some((line) => line.startsWith('SVC_HOST=localhost'))).toBe(true);
    expect(await environment(instance, 'app')).toEqual(before);
  });
});

describe('pulls', () => {
  const withConfig = async (name: string, text: string) => {
    const path = join(inject('host').directory, `${name}.config.json`);
    await writeFile(path, text, { mode: 0o600 });
    return { volumes: [`${path}:/root/.docker/config.json:ro`] };
  };

  test('from a registry with a password, of the mounted config.json', async () => {
    const credentials = { user: 'svc', password: 'hunter2-hunter2' };
    const registry = await startBadRegistry(inject('host').registry, credentials);
    onTestFinished(() => registry.close());
    const config = dockerConfig(registry.host, credentials);
    const directory = join(inject('host').directory, `config-${registry.host.split(':')[1]}`);
    await mkdir(directory);
    await writeFile(join(directory, 'config.json'), config);
    const instance = await createInstance({
      ...alone,
      registry: registry.host,
      shell: { DOCKER_CONFIG: directory },
    });
    const result = await updateWell(instance, toNext, good, await withConfig(instance.name, config));
    expect(result.log).not.toContain('hunter2');
  });

  test('a credential store and a context that are not there do not break a public pull', async () => {
    const instance = await createInstance(alone);
    const config = JSON.stringify({
      credsStore: 'desktop',
      currentContext: 'desktop-linux',
      credHelpers: { 'ecr.example.org': 'ecr-login' },
      auths: { 'stale.example.org': { auth: 'c3ZjOnN0YWxlLXBhc3N3b3Jk' } },
    });
    await updateWell(
      instance,
      toNext,
      {
        ...good,
        warns: [
          /store "desktop".*config\.json/,
          /context "desktop-linux".*config\.json/,
          /ecr-login.*config\.json.*ecr\.example\.org/,
        ],
      },
      await withConfig(instance.name, config),
    );
  });

  test('pull_policy never: what is local counts', async () => {
    const instance = await createInstance(alone);
    const text = (await instance.read('compose.prod.yaml')).replaceAll(
      / {4}command: (app|worker)\n/g,
      '$&    pull_policy: never\n',
    );
    await instance.write('compose.prod.yaml', text);
    await instance.compose('up', '-d', ...alone.up);
    const before = await look(instance);
    const missing = await runUpdater(instance, toNext);
    expect(judgeOutcome(missing, ['failed'])).toEqual([]);
    expect(missing.log).toContain(`${instance.image}:v1.1.0 is not on this machine`);
    expect(judgeUntouched(before, await look(instance))).toEqual([]);

    await execa('docker', ['pull', '--quiet', `${instance.image}:v1.1.0`]);
    // The registry has another one by now.
    await instance.publish('v1.1.0', { version: '1.1.0', labels: { later: 'yes' } });
    await updateWell(instance, toNext, {
      ...good,
      says: [/app has pull_policy never/, /worker has pull_policy never/],
    });
    const [app] = await findContainers(`${instance.project}-app-1`);
    expect(app?.Config.Labels.later).toBeUndefined();
  });

  test('an image that only the new generated file names', async () => {
    const instance = await createInstance({ kind: 'generated', publish: [] });
    const fresh = generatedCompose('v1.1.0', { worker: `\${SVC_IMAGE:?}-worker:\${SVC_VERSION:-latest}` });
    const release = { files: { 'compose.yaml': fresh } };
    await instance.publish('v1.1.0', release);
    const image = await buildImage(`${instance.name}/svc`, 'v1.1.0', release);
    await push(inject('host').registry, `${instance.name}/svc-worker`, 'v1.1.0', image);
    await updateWell(instance, toNext, { ...good, changed: { '.env': bumped, 'compose.yaml': fresh } });
    const worker = (await instance.containers())[`${instance.name}-worker-1`];
    expect(worker?.reference).toBe(`${instance.image}-worker:v1.1.0`);
  });
});
