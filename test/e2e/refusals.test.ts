import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import type { Says } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { judgeUpDoesNothing } from '../judge/operators-up.ts';
import { type EngineClaims, startBadEngine } from '../rig/bad-engine.ts';
import { registryFaults, startBadRegistry } from '../rig/bad-registry.ts';
import { composeText, generatedCompose } from '../rig/compose-text.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { type ReleaseOptions, releaseFiles } from '../rig/releases.ts';
import type { UpdaterOptions } from '../rig/updater-run.ts';
import { expectAttempt, expectWords, keepFiles, shareInstance } from './support/attempt.ts';
import { alone, createInstance, type Instance, remakeNetwork } from './support/instance.ts';

// Every rule of docs/contract.md 4.1 that forbids an update: exit 3, and not a byte and not a container is another one.

const toNext = ['--target', 'v1.1.0'];
const untouched = (version: string) => {
  const state = `nothing was changed, ${version.replaceAll('.', '\\.')} runs on`;
  const step = 'v\\d+\\.\\d+\\.\\d+ has to come first';
  return new RegExp(
    `^refused \\((?:(?!upgrade-step)[a-z-]+\\): ${state}|upgrade-step\\): ${state}; ${step})\\. Next: `,
  );
};
/** Before the instance has been looked at. */
const unseen = /^refused \([a-z-]+\): nothing was changed\. Next: /;

interface Refusal {
  name: string;
  /** Default `--target v1.1.0`. */
  args?: (instance: Instance) => string[];
  options?: (instance: Instance) => UpdaterOptions | Promise<UpdaterOptions>;
  /** What a person did to the directory. */
  prepare?: (instance: Instance) => unknown;
  says: (instance: Instance) => Says;
  /** The end of the last line: what to do next. */
  next: (instance: Instance) => string | RegExp;
  /** Default v1.0.0 runs on. */
  state?: string | RegExp;
  never?: Says;
}

function testRefusals(instance: () => Instance, refusals: readonly Refusal[]): void {
  test.for(refusals.map((refusal) => [refusal.name, refusal] as const))('%s', async ([, refusal]) => {
    const { args, options, prepare, says, next, state, never = [] } = refusal;
    const shared = instance();
    if (prepare) {
      await keepFiles(shared);
      await prepare(shared);
    }
    await expectAttempt(
      shared,
      args?.(shared) ?? toNext,
      { exitCode: 3, says: says(shared), ends: [state ?? untouched('v1.0.0'), next(shared)], never },
      await options?.(shared),
    );
  });
}

async function badEngine(claims: EngineClaims): Promise<UpdaterOptions> {
  const socket = join(inject('host').directory, `engine-${Math.random().toString(36).slice(2, 8)}.sock`);
  const engine = await startBadEngine(socket, claims);
  onTestFinished(() => engine.close());
  return { socket };
}

/** A directory of the host that the updater does not get, beside the compose directory. */
async function outside(instance: Instance, files: Record<string, string> = {}): Promise<string> {
  const directory = `${instance.directory}-outside`;
  await mkdir(directory, { recursive: true });
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return directory;
}

const edit =
  (path: string, from: string | RegExp, to: string) =>
  async (instance: Instance): Promise<void> => {
    const text = await instance.read(path);
    const edited = text.replace(from, to);
    if (edited === text) throw new Error(`${path} has no ${from}`);
    await instance.write(path, edited);
  };

/** As it stands in a directory of its own, for all rules that need nothing else. */
const plain = shareInstance();

describe('how the updater was started', () => {
  testRefusals(plain, [
    {
      name: 'no socket',
      options: () => ({ socket: null }),
      says: () => ['no engine answers at unix:///var/run/docker.sock'],
      state: unseen,
      next: () => 'Add -v /var/run/docker.sock:/var/run/docker.sock to the docker run command',
    },
    {
      name: 'no right to use the socket',
      options: () => ({ docker: ['--user', '1000:1000'] }),
      says: () => ["the engine's socket unix:///var/run/docker.sock may not be used: permission denied"],
      state: unseen,
      next: () => 'Run the updater as root, the owner of the socket, and without --user.',
    },
    {
      name: 'an engine that is too old',
      options: () => badEngine({ apiVersion: '1.23', version: '1.11.2' }),
      says: () => [/the engine is too old: it speaks API 1\.23, this image's CLI needs 1\.\d+/],
      state: unseen,
      next: () => 'Update the engine, or use the svc-updater image that fits it.',
    },
    {
      name: 'an engine that is too new',
      options: () => badEngine({ apiVersion: '1.99', minApiVersion: '1.90', version: '99.0.0' }),
      says: () => [/the engine is too new: it needs API 1\.90 or later, this image's CLI speaks 1\.\d+/],
      state: unseen,
      next: () => 'use the svc-updater image that fits it',
    },
    {
      name: 'the compose directory is not mounted',
      options: () => ({ mount: null }),
      says: ({ project, directory }) => [
        'no mounted directory holds a compose file',
        `${project} (${directory})`,
      ],
      state: unseen,
      next: () => 'Mount the compose directory at its own path: -v /opt/svc:/opt/svc.',
    },
    {
      name: 'the directory of the named project is not mounted',
      args: ({ project }) => ['--project', project, ...toNext],
      options: () => ({ mount: null }),
      says: ({ project, directory }) => [`the directory of project ${project}, ${directory}, is not mounted`],
      state: unseen,
      next: ({ directory }) => `Add -v ${directory}:${directory}`,
    },
    {
      name: '--dir is not mounted',
      args: () => ['--dir', '/elsewhere', ...toNext],
      says: () => ['--dir /elsewhere is not mounted from the host'],
      state: unseen,
      next: () => 'Mount the compose directory at its own path',
    },
    {
      name: 'mounted read-only',
      options: () => ({ readOnly: true }),
      says: ({ directory }) => [`the compose directory ${directory} is mounted read-only`],
      state: unseen,
      next: () => 'Mount the compose directory writable: without :ro',
    },
    {
      name: 'no compose service: nothing was started from the directory',
      options: async (instance) => {
        const other = await outside(instance, { 'compose.yaml': 'services: {app: {image: x}}\n' });
        return { mount: null, volumes: [`${other}:${other}`] };
      },
      says: ({ directory, project }) => [
        `no compose project was started from ${directory}-outside`,
        `${project} (${directory})`,
      ],
      state: unseen,
      next: () => 'name it with --project',
    },
    {
      name: 'no compose service: no project of that name',
      args: () => ['--project', 'no-such-project', ...toNext],
      says: ({ project, directory }) => [
        'no container of a compose project named no-such-project exists',
        `${project} (${directory})`,
      ],
      state: unseen,
      next: () => 'docker compose pull && docker compose up -d',
    },
    {
      name: 'no container of the service that --service names first',
      args: () => ['--service', 'web', ...toNext],
      says: ({ project, directory }) => [
        `project ${project} in ${directory} has no container of service web`,
      ],
      state: unseen,
      next: () => 'app, db, proxy, tunnel, worker',
    },
    {
      name: 'no target where a release tag pins',
      args: () => [],
      says: () => ['app is pinned to v1.0.0 by SVC_VERSION in .env line 7'],
      next: () => 'Name the release with --target vX.Y.Z, or --target canary.',
    },
    {
      name: 'a target that is older than what runs',
      args: () => ['--target', 'v0.9.9'],
      says: () => ['v0.9.9 is older than v1.0.0, which runs'],
      next: () => 'There is no downgrade: migrations only run forward.',
    },
    {
      name: 'a host path that exists in the container already',
      options: ({ directory }) => ({ mount: '/compose', docker: ['--tmpfs', directory] }),
      says: ({ directory }) => [`${directory} cannot be given in this container: it exists here already`],
      state: unseen,
      next: ({ directory }) => `Mount it at its own path: -v ${directory}:${directory}.`,
    },
    {
      name: 'a host path that cannot be made on a read-only root',
      options: () => ({ mount: '/compose', docker: ['--read-only'] }),
      says: ({ directory }) => [`${directory} cannot be given in this container: its root is read-only`],
      state: unseen,
      next: ({ directory }) => `Mount it at its own path: -v ${directory}:${directory}.`,
    },
  ]);

  test('on a read-only root with the directory at its own path nothing is in the way', async () => {
    const plan = await plain().update(['plan', ...toNext], { docker: ['--read-only'] });
    expect(plan.exitCode, plan.log).toBe(0);
  });
});

describe('what is in the directory', () => {
  const env = (i: Instance) => join(i.directory, '.env');
  testRefusals(plain, [
    {
      name: 'a file to be written is itself a bind mount',
      options: (i) => ({ volumes: [`${env(i)}:${env(i)}`] }),
      says: (i) => [`${env(i)} is mounted by itself: it cannot be replaced there`],
      next: ({ directory }) => `Mount its directory in its place: -v ${directory}:${directory}.`,
    },
    {
      name: 'a file to be written is a link out of the mounted directories',
      prepare: async (i) => {
        const other = await outside(i);
        await rename(env(i), join(other, 'settings.env'));
        await symlink(join(other, 'settings.env'), env(i));
      },
      says: (i) => [env(i), `${i.directory}-outside/settings.env`, 'not mounted'],
      state: unseen,
      next: ({ directory }) => `-v ${directory}-outside:${directory}-outside`,
    },
    {
      name: 'the compose file is a link out of the mounted directories',
      prepare: async (i) => {
        const other = await outside(i);
        await rename(join(i.directory, 'compose.prod.yaml'), join(other, 'compose.prod.yaml'));
        await symlink(`../${basename(other)}/compose.prod.yaml`, join(i.directory, 'compose.prod.yaml'));
        // Without one that can be seen the directory is no compose directory.
        await i.write('compose.yaml', 'services: {}\n');
      },
      says: (i) => [
        join(i.directory, 'compose.prod.yaml'),
        `${i.directory}-outside/compose.prod.yaml`,
        'not mounted',
      ],
      state: unseen,
      next: ({ directory }) => `-v ${directory}-outside:${directory}-outside`,
    },
    {
      name: 'a file to be written is no regular file',
      prepare: async (i) => {
        await rm(env(i));
        await execa('mkfifo', [env(i)]);
      },
      says: (i) => [`${env(i)} is not a regular file`],
      state: unseen,
      next: () => 'Make it a regular file',
    },
    {
      name: 'an env_file outside the mounts',
      prepare: async (i) => {
        await outside(i, { 'app.env': 'A=1\n' });
        await edit(
          'compose.prod.yaml',
          'command: app',
          `command: app\n    env_file: ${i.directory}-outside/app.env`,
        )(i);
      },
      says: ({ directory }) => [
        `outside the mounted directories: ${directory}-outside/app.env (env_file of app)`,
      ],
      state: unseen,
      next: ({ directory }) => `Add -v ${directory}-outside:${directory}-outside to the docker run command.`,
    },
    {
      name: 'an optional env_file outside the mounts',
      prepare: async (i) => {
        await outside(i, { 'worker.env': 'A=1\n' });
        await edit(
          'compose.prod.yaml',
          'command: worker',
          `command: worker\n    env_file:\n      - path: ../${basename(i.directory)}-outside/worker.env\n        required: false`,
        )(i);
      },
      says: ({ directory }) => [
        `outside the mounted directories: ${directory}-outside/worker.env (env_file of worker)`,
      ],
      state: unseen,
      next: ({ directory }) => `Add -v ${directory}-outside:${directory}-outside to the docker run command.`,
    },
    {
      name: 'an env_file of a service that the app depends on, outside the mounts',
      prepare: async (i) => {
        await outside(i, { 'db.env': 'A=1\n' });
        await edit(
          'compose.prod.yaml',
          'command: db',
          `command: db\n    env_file: [../${basename(i.directory)}-outside/db.env]`,
        )(i);
      },
      says: ({ directory }) => [`${directory}-outside/db.env (env_file of db)`],
      state: unseen,
      next: ({ directory }) => `Add -v ${directory}-outside:${directory}-outside to the docker run command.`,
    },
    {
      name: 'an include outside the mounts',
      prepare: async (i) => {
        await outside(i, { 'more.yaml': 'services: {}\n' });
        await edit(
          'compose.prod.yaml',
          'services:\n',
          `include:\n  - ../${basename(i.directory)}-outside/more.yaml\nservices:\n`,
        )(i);
      },
      says: ({ directory }) => [`outside the mounted directories: ${directory}-outside/more.yaml (include)`],
      state: unseen,
      next: ({ directory }) => `Add -v ${directory}-outside:${directory}-outside to the docker run command.`,
    },
    {
      name: 'an extends outside the mounts',
      prepare: async (i) => {
        await outside(i, { 'base.yaml': 'services: {base: {labels: {a: b}}}\n' });
        await edit(
          'compose.prod.yaml',
          'command: app',
          `command: app\n    extends: { file: ../${basename(i.directory)}-outside/base.yaml, service: base }`,
        )(i);
      },
      says: ({ directory }) => [`outside the mounted directories: ${directory}-outside/base.yaml (extends)`],
      state: unseen,
      next: ({ directory }) => `Add -v ${directory}-outside:${directory}-outside to the docker run command.`,
    },
  ]);

  test('with the -v that the refusals ask for there is nothing left to refuse', async () => {
    await keepFiles(plain());
    const other = await outside(plain(), {
      'app.env': 'A=1\n',
      'more.yaml': 'services: {}\n',
      'base.yaml': 'services: {base: {labels: {a: b}}}\n',
    });
    const up = `../${basename(other)}`;
    await edit(
      'compose.prod.yaml',
      'command: app',
      `command: app\n    env_file: ${up}/app.env\n    extends: { file: ${up}/base.yaml, service: base }`,
    )(plain());
    await edit('compose.prod.yaml', 'services:\n', `include:\n  - ${up}/more.yaml\nservices:\n`)(plain());
    const plan = await plain().update(['plan', ...toNext], { volumes: [`${other}:${other}`] });
    expect(plan.exitCode, plan.log).toBe(0);
  });
});

describe('the files no longer say what the containers have', () => {
  // Typed in the directory, a bare `docker compose up -d` would find no file.
  const apply = /Apply your own edits with docker compose -p \S+ -f compose\.prod\.yaml up -d first\./;
  const prod = 'compose.prod.yaml';
  testRefusals(plain, [
    {
      // Each kind by itself is a row of test/agent/drift/drift.test.ts; here they are as compose and the engine write them.
      name: 'mounts, a port, a network and variables, told in one go',
      prepare: async (i) => {
        await edit(prod, "volumes: ['./data:/data']", "volumes: ['./other:/data']")(i);
        await edit(prod, "volumes: ['./data:/data']", 'volumes: []')(i);
        await edit(prod, ":8080'", ":8081'")(i);
        await edit(prod, /networks: \[internal\]\n {4}environment/, 'networks: [side]\n    environment')(i);
        await edit(prod, /^networks:$/m, 'networks:\n  side:')(i);
        await edit(prod, / {6}SVC_HOST: .*\n/, '')(i);
        await edit(prod, /DB_PASSWORD: .*/, "DB_PASSWORD: ''")(i);
      },
      says: (i) => [
        'recreating would take from the instance what its files no longer say',
        `app: the mount at /data would move from ${i.directory}/data to ${i.directory}/other`,
        `worker: the mount of ${i.directory}/data at /data would be dropped`,
        `app: published port 127.0.0.1:${i.port}:8080/tcp would be dropped`,
        `app: network ${i.project}_internal would be dropped`,
        'app: environment variable SVC_HOST would be dropped',
        'app: environment variable DB_PASSWORD would be emptied',
      ],
      next: () => apply,
      never: [/svc\.example\.org/, /correct horse/],
    },
  ]);

  test('values that were only in the shell: named and never shown; --accept-drift goes on', async () => {
    const layout = (c: LayoutContext) => ({
      files: {
        'compose.yaml': composeText({ app: `${c.image}:${c.tag}`, parts: c.parts })
          .replace("'./data:/data'", `'\${DATA_DIR:-./elsewhere}:/data'`)
          .replace(
            'SVC_HOST:',
            `API_TOKEN:\n      SMTP_URL: \${SMTP_URL:-}\n      DATABASE: \${DB_HOST:-localhost}\n      SVC_HOST:`,
          )
          .replace(
            'restart: always',
            `restart: always\n    labels: { site: '\${SITE-none}' }\n    configs: [where]`,
          )
          .replace('    command: app', '    secrets: [key, pem]\n    command: app')
          .concat(`configs:\n  where: { content: "\${SITE-none}" }\n`)
          .concat('secrets:\n  key: { environment: SIGNING_KEY }\n')
          .concat(`  pem: { file: '\${PEM_FILE:-./other.pem}' }\n`),
        'site.pem': 'the one\n',
        'other.pem': 'another\n',
        '.env': `DB_PASSWORD=correct horse battery\nSVC_PORT=${c.port}\n`,
      },
      flags: [],
    });
    const secrets = {
      API_TOKEN: 'tok-4711',
      SMTP_URL: 'smtp://me:p4ssw0rd@mail.example.org',
      DB_HOST: 'db.example.org',
      SITE: 'main-site',
      SIGNING_KEY: 'k-0815-4711',
      PEM_FILE: './site.pem',
    };
    const own = await createInstance({ ...alone, layout, shell: { DATA_DIR: './data', ...secrets } });
    const edited = 'Where no shell had it, and its default was edited since, run docker compose up -d first.';
    const { PEM_FILE: _, ...values } = secrets;
    const never = Object.values(values).map((value) => new RegExp(value));
    const found = [
      `app: the mount at /data would move from ${own.directory}/data to ${own.directory}/elsewhere`,
      /app: environment variable API_TOKEN would be (dropped|emptied)/,
      'app: environment variable SMTP_URL would be emptied',
      'app: environment variable DATABASE would change (no file sets DB_HOST)',
      'app: label site would change (no file sets SITE)',
      'app: config where would change (no file sets SITE)',
      'app: secret key would be lost (no file sets SIGNING_KEY)',
      `app: the mount at /run/secrets/pem would move from ${own.directory}/site.pem to ${own.directory}/other.pem (no file sets PEM_FILE)`,
    ];
    const lines = [
      'DATA_DIR=…',
      'API_TOKEN=…',
      'SMTP_URL=…',
      'DB_HOST=…',
      'SITE=…',
      'SIGNING_KEY=…',
      'PEM_FILE=…',
    ];
    for (const [command, off] of [
      ['plan', ''],
      ['update', '0'],
    ] as const) {
      const ends = [untouched('v1.0.0'), ...lines, `${own.directory}/.env`, edited, '--accept-drift'];
      await expectAttempt(
        own,
        [command, ...toNext],
        { exitCode: 3, says: found, ends, never },
        { env: { SVC_UPDATER_ACCEPT_DRIFT: off } },
      );
    }

    // Without its value, no compose makes a secret.
    const text = await own.read('compose.yaml');
    await own.write('compose.yaml', text.replace('    secrets: [key, pem]\n', ''));
    const accepted = await own.update(toNext, { env: { SVC_UPDATER_ACCEPT_DRIFT: '1' } });
    expectWords(accepted, {
      exitCode: 0,
      says: found.slice(0, -2),
      ends: ['updated v1.0.0 → v1.1.0'],
      never,
    });
    expect(await own.version()).toBe('v1.1.0');
  });
});

describe('what the release ships', () => {
  const instance = shareInstance({ kind: 'generated' });
  const publisher = 'report it to its publisher';
  const wholesale = 'run docker compose up -d for the whole project';
  const shipping = (files: ReleaseOptions['files']): ReleaseOptions => ({ files: files ?? {} });
  const refusals: [name: string, release: ReleaseOptions, says: string | RegExp, next: string][] = [
    [
      'no compose.yaml',
      releaseFiles.missing,
      'the release has no compose.yaml in /usr/share/svc/release, which this install uses',
      publisher,
    ],
    [
      'no directory where the label says',
      { labels: { 'svc.release-files': '/no/such/place' } },
      'the release has no compose.yaml in /no/such/place',
      publisher,
    ],
    [
      'no marker',
      releaseFiles.unmarked,
      `the release's compose.yaml does not begin with "# svc:generated"`,
      publisher,
    ],
    [
      'a label that another release has to come first, which is read before the files',
      { ...releaseFiles.missing, labels: { 'svc.release-requires': 'v1.1.0' } },
      /svc:v1\.2\.0 can only be updated to from v1\.1\.0 on, and v1\.0\.0 runs/,
      'Run the update with --target v1.1.0 first, then again with --target v1.2.0.',
    ],
    ['a symbolic link', releaseFiles.linked, "the release's compose.yaml is not a regular file", publisher],
    ['more than 1 MiB', releaseFiles.huge, "the release's compose.yaml is larger than 1 MiB", publisher],
    [
      'no text',
      shipping({ 'compose.yaml': Buffer.from('# svc:generated\n# caf\xe9\n', 'latin1') }),
      "the release's compose.yaml is not UTF-8 text",
      publisher,
    ],
    [
      'no worker, which this install runs',
      shipping({ 'compose.yaml': generatedCompose('without a worker', { worker: null }) }),
      "the release's compose file has no service worker, which this install runs",
      publisher,
    ],
    [
      'a variable that it needs and no file sets',
      shipping({
        'compose.yaml': generatedCompose('with a secret', { environment: { TOKEN: `\${NEW_TOKEN:?}` } }),
      }),
      'the release needs NEW_TOKEN, which no file sets',
      'Add NEW_TOKEN=… to ',
    ],
    [
      'a secret from a variable that no file sets',
      shipping({
        'compose.yaml': generatedCompose('with a secret', {
          extra: { app: 'secrets: [token]' },
          tail: 'secrets: { token: { environment: NEW_TOKEN } }',
        }),
      }),
      'the release needs NEW_TOKEN for a secret, which no file sets',
      'Add NEW_TOKEN=… to ',
    ],
    [
      'the app in another network than the rest of it',
      shipping({
        'compose.yaml': generatedCompose('with another network')
          .replace('networks: [internal]', 'networks: [inner]')
          .replace(/^networks:$/m, 'networks:\n  inner:'),
      }),
      'the release takes app out of the network that it shares with db, proxy and tunnel',
      wholesale,
    ],
    [
      'a file that compose rejects',
      shipping({ 'compose.yaml': `${generatedCompose('with nonsense')}\nnonsense: true\n` }),
      /compose rejects .*nonsense/,
      publisher,
    ],
  ];
  test.for(refusals)('%s', async ([, release, says, next]) => {
    await instance().publish('v1.2.0', { version: '1.2.0', ...release });
    await expectAttempt(instance(), ['--target', 'v1.2.0'], {
      exitCode: 3,
      says: [says],
      ends: [untouched('v1.0.0'), next],
    });
  });

  test('another definition of a network that carries its hash', async () => {
    const own = await createInstance({ ...alone, kind: 'generated' });
    await remakeNetwork(own, 'internal', { hash: true, ...alone });
    await own.publish('v1.2.0', { version: '1.2.0', ...releaseFiles.changesNetwork });
    await expectAttempt(own, ['--target', 'v1.2.0'], {
      exitCode: 3,
      says: ['the release changes the definition of network internal, which is in use'],
      ends: [untouched('v1.0.0'), wholesale],
    });
  });

  test('no compose.cluster.yaml for an install in cluster mode, and a floating tag is put back', async () => {
    const cluster = await createInstance({ kind: 'cluster', tag: 'canary' });
    await cluster.publish('canary', { version: '1.1.0-canary.2', ...releaseFiles.withoutCluster });
    await expectAttempt(cluster, [], {
      exitCode: 3,
      says: [
        'the release has no compose.cluster.yaml in /usr/share/svc/release, which this install uses',
        `${cluster.image}:canary names the image from before again`,
      ],
      ends: [untouched('v1.1.0-canary.1'), publisher],
    });
    expect(await judgeUpDoesNothing(cluster)).toEqual([]);
  });
});

describe('older than what runs', () => {
  test('latest has moved back, then too far ahead: labels of the pulled image tell', async () => {
    const instance = await createInstance({
      kind: 'default-latest',
      tag: 'latest',
      release: { version: '1.1.0' },
    });
    await instance.publish('latest', { version: '1.0.9', versionLabel: 'v1.0.9' });
    await expectAttempt(instance, [], {
      exitCode: 3,
      says: [
        `${instance.image}:latest is v1.0.9, older than v1.1.0, which runs`,
        `${instance.image}:latest names the image from before again`,
      ],
      ends: [untouched('v1.1.0'), 'There is no downgrade'],
    });
    await instance.publish('latest', { version: '2.0.0', labels: { 'svc.release-requires': 'v1.5.0' } });
    await expectAttempt(instance, [], {
      exitCode: 3,
      says: [
        `${instance.image}:latest can only be updated to from v1.5.0 on, and v1.1.0 runs`,
        `${instance.image}:latest names the image from before again`,
      ],
      ends: [
        untouched('v1.1.0'),
        /Pin v1\.5\.0 by hand \(.*\) and run the update with --target v1\.5\.0 first/,
      ],
    });
    expect(await judgeUpDoesNothing(instance)).toEqual([]);
  });

  test('canary builds count by number, and come before their release', async () => {
    const instance = await createInstance({
      tag: 'canary',
      // With a v in the label of what runs, and without one in the label of what comes.
      release: { version: '1.1.0-canary.10', versionLabel: 'v1.1.0-canary.10' },
      publish: ['v1.0.0'],
    });
    await instance.publish('canary', { version: '1.1.0-canary.9' });
    const state = untouched('v1.1.0-canary.10');
    await expectAttempt(instance, ['--target', 'canary'], {
      exitCode: 3,
      says: ['is v1.1.0-canary.9, older than v1.1.0-canary.10, which runs'],
      ends: [state],
    });
    await expectAttempt(instance, ['--target', 'v1.0.0'], {
      exitCode: 3,
      says: ['v1.0.0 is older than v1.1.0-canary.10, which runs'],
      ends: [state],
    });
    expect(await judgeUpDoesNothing(instance)).toEqual([]);
  });
});

describe('how the image is written', () => {
  test('by digest alone', async () => {
    const instance = await createInstance({
      ...alone,
      layout: (c) => ({
        files: {
          'compose.yaml': composeText({ app: `${c.image}:v1.0.0`, parts: c.parts }),
          '.env': `DB_PASSWORD=correct horse battery\nSVC_PORT=${c.port}\n`,
        },
        flags: [],
      }),
    });
    const digest = await instance.publish('v1.0.0');
    await edit('compose.yaml', `${instance.image}:v1.0.0`, `${instance.image}@${digest}`)(instance);
    await instance.compose('up', '-d', ...alone.up);
    await instance.waitUntilHealthy();
    await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: [/app.*digest/, 'compose.yaml line 3'],
      ends: [unseen, 'Write the image as repository:vX.Y.Z'],
    });
  });
});

describe('the project', () => {
  test('is one of several that match', async () => {
    const instance = plain();
    const twin = `${inject('host').run}-twin`;
    onTestFinished(async () => {
      await instance.compose('-p', twin, 'down', '--volumes');
    });
    await instance.compose('-p', twin, 'create', 'app');
    const { directory, project } = instance;
    const ends = [unseen, 'Name one with --project'];
    await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: ['several projects match', `${project} (${directory})`, `${twin} (${directory})`],
      ends,
    });
    const plan = await instance.update(['plan', '--project', project, ...toNext]);
    expect(plan.exitCode, plan.log).toBe(0);

    const other = await createInstance(alone);
    await expectAttempt(
      other,
      toNext,
      {
        exitCode: 3,
        says: ['several projects match', `${other.project} (${other.directory})`, `${twin} (${directory})`],
        ends: [unseen, 'Name one with --project'],
      },
      { volumes: [`${directory}:${directory}`] },
    );
  });

  test('builds the app from source without an image', async () => {
    const instance = plain();
    await keepFiles(instance);
    await execa('docker', ['tag', `${instance.image}:v1.0.0`, `${instance.project}-app:latest`]);
    await edit('compose.prod.yaml', /image: .*\n {4}command: app/, 'build: .\n    command: app')(instance);
    await instance.compose('up', '-d');
    await instance.waitUntilHealthy();
    await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: ['app is built from source in compose.prod.yaml and names no image'],
      ends: [unseen, 'Give the service an image'],
    });
  });

  // The last one: it leaves the instance without its app.
  test('has no container of the app service', async () => {
    const instance = plain();
    await instance.compose('rm', '--stop', '--force', 'app');
    await expectAttempt(instance, toNext, {
      exitCode: 3,
      says: [`project ${instance.project} in ${instance.directory} has no container of service app`],
      ends: [unseen, 'Start the instance once with docker compose up -d'],
    });
  });
});

test('another update is running: who and since when; the lock of a dead one is taken over', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const instance = await createInstance({ ...alone, registry: registry.host });
  const before = await look(instance);
  registry.fail(registryFaults.stall);
  const pulling = () => expect.poll(() => registry.requests.length, { timeout: 20_000 }).toBeGreaterThan(0);
  const journal = join(instance.directory, '.svc-updater', 'journal.json');
  // The pull begins before the journal does.
  const begun = () => expect.poll(async () => JSON.parse(await readFile(journal, 'utf8')).outcome).toBe(null);

  registry.requests.length = 0;
  const first = instance.startUpdate(toNext);
  await pulling();
  expectWords(await instance.update(toNext), {
    exitCode: 3,
    says: [
      new RegExp(`another update is running: container ${first.name}, since \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z`),
    ],
    ends: [unseen, `Wait until it ends: docker logs -f ${first.name}.`],
  });
  const plan = await instance.update(['plan', ...toNext]);
  expectWords(plan, {
    exitCode: 0,
    says: [`an update may be running: ${first.name} holds the lock since`],
    ends: ['planned: nothing was changed'],
    never: ['was interrupted'],
  });
  await first.stop();
  expectWords(await first.done, { exitCode: 143, says: [], ends: ['cancelled: nothing was changed'] });
  expect(judgeUntouched(before, await look(instance))).toEqual([]);

  registry.requests.length = 0;
  const killed = instance.startUpdate(toNext);
  await pulling();
  await begun();
  await killed.kill();
  await killed.done;
  const dead = await look(instance);
  expect(dead.leftovers).toEqual(['.svc-updater/lock']);
  expect(judgeUntouched(before, { ...dead, leftovers: [] })).toEqual([]);
  expectWords(await instance.update(['plan', ...toNext]), {
    exitCode: 0,
    says: ['the update to v1.1.0 of'],
    ends: ['planned: nothing was changed'],
    never: ['may be running'],
  });

  registry.fail(null);
  expectWords(await instance.update(toNext), {
    exitCode: 0,
    says: [new RegExp(`took over the lock of ${killed.name}, which no longer runs \\(since \\d{4}-.*Z\\)`)],
    ends: ['updated v1.0.0 → v1.1.0'],
  });
  const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
  expect(judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed })).toEqual([]);
});
