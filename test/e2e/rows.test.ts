import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, test } from 'vitest';
import { clusterCompose, composeText, generatedCompose } from '../instance/compose-text.ts';
import type { InstanceOptions } from '../instance/instance-options.ts';
import type { LayoutContext } from '../instance/layout.ts';
import { type ReleaseOptions, releaseFiles } from '../instance/releases.ts';
import type { ExpectedUpdate } from './support/expect-update.ts';
import { type ExpectedLog, findUnchanged, runUpdater, updateWell } from './support/good-run.ts';
import { createInstance } from './support/instance.ts';

// Table 2.1 of the specification, and 2.2 and 2.3 as far as they change what it says.

interface Row extends ExpectedUpdate, ExpectedLog {
  name: string;
  instance: InstanceOptions;
  /** Published once the instance runs; default v1.1.0. */
  publish?: Record<string, ReleaseOptions | undefined>;
  /** Null for none. */
  target: string | null;
}

const set = (from: string, to: string) => (text: string) => text.replaceAll(from, to);
const add = (line: string) => (text: string) => `${text}${line}\n`;
const args = (target: string | null) => (target === null ? [] : ['--target', target]);

async function create({ instance: options, publish = { 'v1.1.0': {} } }: Pick<Row, 'instance' | 'publish'>) {
  const instance = await createInstance({ publish: [], ...options });
  for (const [tag, release] of Object.entries(publish)) await instance.publish(tag, release);
  return instance;
}

/** Both services pinned as the texts say, with settings that need no `.env`. */
const pinned =
  (app: (c: LayoutContext) => string, worker = app) =>
  (c: LayoutContext) => ({
    files: {
      'compose.yaml': composeText({
        head: '# Written by hand; do not reformat.\n',
        app: app(c),
        worker: worker(c),
        parts: c.parts,
      }),
      '.env': `DB_PASSWORD='correct horse battery'\nSVC_PORT=${c.port}\n`,
    },
    flags: [],
  });

const canary1: ReleaseOptions = { version: '1.1.0-canary.1' };
const canary2: ReleaseOptions = { version: '1.1.0-canary.2' };

describe('user-written, a release tag to vX.Y.Z', () => {
  const rows: Row[] = [
    {
      name: 'SVC_VERSION in .env',
      instance: {},
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { '.env': set('v1.0.0', 'v1.1.0') },
      says: [
        'compose.prod.yaml is user-written, pinned by SVC_VERSION in .env line 7',
        'db, proxy and tunnel stay',
      ],
    },
    {
      name: 'inline, plain and quoted',
      instance: { kind: 'inline' },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { 'compose.yaml': set('v1.0.0', 'v1.1.0') },
    },
    {
      name: 'the default of a variable that nobody sets',
      instance: { kind: 'default-tag' },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { 'compose.yaml': set('v1.0.0', 'v1.1.0') },
    },
    {
      name: 'without the v',
      instance: { tag: '1.0.0' },
      publish: { '1.1.0': {} },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { '.env': set('SVC_VERSION=1.0.0', 'SVC_VERSION=1.1.0') },
    },
    {
      name: 'with a variant, without the v',
      instance: { kind: 'inline', tag: '1.0.0-alpine', release: { version: '1.0.0' } },
      publish: { '1.1.0-alpine': { version: '1.1.0' } },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { 'compose.yaml': set('1.0.0-alpine', '1.1.0-alpine') },
    },
    {
      name: 'with a variant in .env',
      instance: { tag: 'v1.0.0-alpine', release: { version: '1.0.0' } },
      publish: { 'v1.1.0-alpine': { version: '1.1.0' } },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { '.env': set('v1.0.0-alpine', 'v1.1.0-alpine') },
    },
    {
      name: 'a canary of a release, to the release',
      instance: { tag: 'v1.1.0-canary.2' },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { '.env': set('v1.1.0-canary.2', 'v1.1.0') },
    },
    {
      name: 'another major version',
      instance: {},
      publish: { 'v2.0.0': {} },
      target: 'v2.0.0',
      version: 'v2.0.0',
      changed: { '.env': set('v1.0.0', 'v2.0.0') },
      warns: [/v1\.0\.0 → v2\.0\.0 .*dump the database/],
    },
    {
      name: 'app and worker pinned in different places',
      instance: {
        layout: pinned(
          (c) => `${c.image}:v1.0.0`,
          (c) => `"${c.image}:\${WORKER_VERSION:-v1.0.0}"`,
        ),
        env: 'WORKER_VERSION=1.0.0\n',
        publish: ['1.0.0'],
      },
      publish: { 'v1.1.0': {}, '1.1.0': {} },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { 'compose.yaml': set(':v1.0.0\n', ':v1.1.0\n'), '.env': set('=1.0.0', '=1.1.0') },
    },
    {
      name: 'a label from the same variable',
      instance: {
        layout: (c) => ({
          files: {
            'compose.yaml': composeText({
              app: `${c.image}:\${SVC_VERSION}`,
              parts: c.parts,
              extra: { app: `labels: { "svc.version": "\${SVC_VERSION}" }\nenv_file: .env` },
            }),
            '.env': `DB_PASSWORD=12345678\nSVC_PORT=${c.port}\nSVC_VERSION=v1.0.0\n`,
          },
          flags: [],
        }),
      },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { '.env': set('v1.0.0', 'v1.1.0') },
    },
  ];
  test.for(rows)('$name', async (row) => {
    await updateWell(await create(row), args(row.target), row);
  });

  test('tag and digest: both move', async () => {
    const instance = await create({
      instance: {
        layout: pinned(
          (c) => `${c.image}:v1.0.0`,
          (c) => `'${c.image}:v1.0.0' # no digest here`,
        ),
      },
    });
    const [old, fresh] = [await instance.publish('v1.0.0'), await instance.publish('v1.1.0')];
    const text = await instance.read('compose.yaml');
    await instance.write('compose.yaml', text.replace(':v1.0.0\n', `:v1.0.0@${old}\n`));
    await instance.compose('up', '-d');
    await instance.waitUntilHealthy();
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: { 'compose.yaml': (before) => set('v1.0.0', 'v1.1.0')(before).replace(old, fresh) },
    });
    const app = (await instance.containers())[`${instance.name}-app-1`];
    expect(app?.reference).toBe(`${instance.image}:v1.1.0@${fresh}`);
  });

  test('the file was bumped by hand and not applied', async () => {
    const instance = await create({ instance: {} });
    await instance.write('.env', set('v1.0.0', 'v1.1.0')(await instance.read('.env')));
    await updateWell(instance, ['--target', 'v1.1.0'], { version: 'v1.1.0' });
  });
});

describe('user-written, floating tags', () => {
  const rows: Row[] = [
    {
      name: 'canary to vX.Y.Z ends pinned',
      instance: { tag: 'canary' },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { '.env': set('SVC_VERSION=canary', 'SVC_VERSION=v1.1.0') },
      says: [/done updated v1\.1\.0-canary\.1 → v1\.1\.0 /],
    },
    {
      name: 'canary inline to vX.Y.Z ends pinned',
      instance: { kind: 'inline', tag: 'canary' },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { 'compose.yaml': set(':canary', ':v1.1.0') },
    },
    {
      name: 'a release tag to canary',
      instance: {},
      publish: { canary: canary1 },
      target: 'canary',
      version: 'v1.1.0-canary.1',
      changed: { '.env': set('SVC_VERSION=v1.0.0', 'SVC_VERSION=canary') },
    },
    {
      name: 'a release tag inline to canary',
      instance: { kind: 'inline' },
      publish: { canary: canary1 },
      target: 'canary',
      version: 'v1.1.0-canary.1',
      changed: { 'compose.yaml': set(':v1.0.0', ':canary') },
    },
    {
      name: 'latest to canary',
      instance: { tag: 'latest' },
      publish: { canary: canary1 },
      target: 'canary',
      version: 'v1.1.0-canary.1',
      changed: { '.env': set('SVC_VERSION=latest', 'SVC_VERSION=canary') },
    },
    {
      name: 'latest by default to canary: the variable is written',
      instance: { kind: 'default-latest', tag: 'latest' },
      publish: { canary: canary1 },
      target: 'canary',
      version: 'v1.1.0-canary.1',
      changed: { '.env': add('SVC_VERSION=canary') },
    },
    {
      name: 'latest by default to canary: the variable is set to nothing',
      instance: { kind: 'default-latest', tag: 'latest', env: 'SVC_VERSION=\n# the end' },
      publish: { canary: canary1 },
      target: 'canary',
      version: 'v1.1.0-canary.1',
      changed: { '.env': set('SVC_VERSION=', 'SVC_VERSION=canary') },
    },
    {
      name: 'no tag to canary',
      instance: { tag: 'latest', layout: pinned((c) => c.image) },
      publish: { canary: canary1 },
      target: 'canary',
      version: 'v1.1.0-canary.1',
      changed: { 'compose.yaml': (text) => text.replaceAll('/svc\n', '/svc:canary\n') },
    },
    {
      name: 'latest to vX.Y.Z: pulled again',
      instance: { tag: 'latest' },
      publish: { latest: { version: '1.1.0' } },
      target: 'v1.1.0',
      version: 'v1.1.0',
    },
    {
      name: 'latest by default to vX.Y.Z: pulled again',
      instance: { kind: 'default-latest', tag: 'latest' },
      publish: { latest: { version: '1.1.0' } },
      target: 'v1.1.0',
      version: 'v1.1.0',
    },
    {
      name: 'latest is newer than the target',
      instance: { kind: 'inline', tag: 'latest' },
      publish: { latest: { version: '1.2.0' } },
      target: 'v1.1.0',
      version: 'v1.2.0',
      warns: [/latest.*v1\.2\.0.*not v1\.1\.0/],
      says: [/done updated v1\.0\.0 → latest \(v1\.2\.0\)/],
    },
    {
      name: 'no tag to vX.Y.Z: pulled again',
      instance: { tag: 'latest', layout: pinned((c) => c.image) },
      publish: { latest: { version: '1.1.0' } },
      target: 'v1.1.0',
      version: 'v1.1.0',
    },
    {
      name: 'canary to canary: pulled again',
      instance: { tag: 'canary' },
      publish: { canary: canary2 },
      target: 'canary',
      version: 'v1.1.0-canary.2',
    },
    {
      name: 'canary without a target: pulled again',
      instance: { tag: 'canary' },
      publish: { canary: canary2 },
      target: null,
      version: 'v1.1.0-canary.2',
    },
    {
      name: 'latest without a target: pulled again',
      instance: { kind: 'default-latest', tag: 'latest' },
      publish: { latest: { version: '1.2.0' } },
      target: null,
      version: 'v1.2.0',
    },
    {
      name: 'latest without a target, another major version',
      instance: { tag: 'latest' },
      publish: { latest: { version: '2.0.0' } },
      target: null,
      version: 'v2.0.0',
      warns: [/v1\.0\.0 → v2\.0\.0 .*dump the database/],
    },
    ...(['v1.1.0', 'canary', null] as const).map((target): Row => {
      const word = (name: string) => `${name} is at nightly, which is no release tag`;
      return {
        name: `another tag, target ${target}`,
        instance: { kind: 'inline', tag: 'nightly', release: { version: '1.0.0' } },
        publish: { nightly: { version: '1.1.0' } },
        target,
        version: 'v1.1.0',
        warns: [word('app'), word('worker')],
      };
    }),
    {
      name: 'a release tag beside latest',
      instance: {
        layout: pinned(
          (c) => `${c.image}:v1.0.0`,
          (c) => `${c.image}:\${WORKER_VERSION:-latest}`,
        ),
        tag: 'latest',
        publish: ['v1.0.0'],
      },
      publish: { 'v1.1.0': {}, latest: { version: '1.1.0' } },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { 'compose.yaml': set(':v1.0.0\n', ':v1.1.0\n') },
    },
  ];
  test.for(rows)('$name', async (row) => {
    await updateWell(await create(row), args(row.target), row);
  });
});

describe('unchanged recreates nothing', () => {
  test('the release runs already, and runs again', async () => {
    const instance = await create({ instance: {} });
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: { '.env': set('v1.0.0', 'v1.1.0') },
    });
    await findUnchanged(instance, ['--target', 'v1.1.0'], { says: [/done unchanged: .*v1\.1\.0/] });
  });

  test('latest has not moved, with and without a target', async () => {
    const instance = await create({ instance: { kind: 'default-latest', tag: 'latest' } });
    await findUnchanged(instance, []);
    await findUnchanged(instance, ['--target', 'v1.1.0'], { warns: [/latest.*v1\.0\.0.*not v1\.1\.0/] });
  });

  test.for(['generated', 'cluster'] as const)('%s', async (kind) => {
    const instance = await create({ instance: { kind } });
    await findUnchanged(instance, ['--target', 'v1.0.0']);
  });

  test('a generated install on canary, without a target', async () => {
    const shipped = { 'compose.yaml': generatedCompose('canary') };
    const release = { version: '1.1.0-canary.1', files: shipped };
    const instance = await create({ instance: { kind: 'generated', tag: 'canary', release } });
    await findUnchanged(instance, []);
    await findUnchanged(instance, ['--target', 'canary']);
  });
});

test('a worker that latest leaves behind is a warning', async () => {
  const instance = await create({
    instance: {
      layout: pinned(
        (c) => `${c.image}:v1.0.0`,
        (c) => `${c.image}:latest`,
      ),
      tag: 'latest',
      publish: ['v1.0.0'],
    },
  });
  const result = await runUpdater(instance, ['--target', 'v1.1.0']);
  expect(result.exitCode).toBe(0);
  expect(await instance.version()).toBe('v1.1.0');
  expect(result.log).toMatch(/WARN .*worker.*latest.*v1\.0\.0.*not v1\.1\.0/);
});

test('a major change is recalled by plan, which changes nothing', async () => {
  const instance = await create({ instance: {}, publish: { 'v2.0.0': {} } });
  const before = await instance.snapshot();
  const result = await runUpdater(instance, ['plan', '--target', 'v2.0.0']);
  expect(result.exitCode).toBe(0);
  expect(result.log).toMatch(/WARN .*v1\.0\.0 → v2\.0\.0 .*dump the database/);
  expect(result.log).toContain('-SVC_VERSION=v1.0.0');
  expect(result.log).toContain('+SVC_VERSION=v2.0.0');
  expect(await instance.snapshot()).toEqual({ ...before, strays: [] });
});

describe('generated', () => {
  const shipped = (...names: string[]) =>
    Object.fromEntries(
      names.map((name) => [
        name,
        (name === 'compose.yaml' ? generatedCompose : clusterCompose)(`v${'1.1.0'}`),
      ]),
    );
  const kinds = {
    generated: ['compose.yaml'],
    cluster: ['compose.yaml', 'compose.cluster.yaml'],
    'cluster-only': ['compose.cluster.yaml'],
  } as const;
  const rows: Row[] = Object.entries(kinds).flatMap(([kind, names]): Row[] => {
    const canaryFiles = Object.fromEntries(
      names.map((name) => [
        name,
        (name === 'compose.yaml' ? generatedCompose : clusterCompose)('v1.1.0-canary.1'),
      ]),
    );
    return [
      {
        name: `${kind} to vX.Y.Z`,
        instance: { kind: kind as keyof typeof kinds },
        target: 'v1.1.0',
        version: 'v1.1.0',
        changed: { '.env': set('v1.0.0', 'v1.1.0'), ...shipped(...names) },
        says: [`compose${kind === 'cluster-only' ? '.cluster' : ''}.yaml is generated`],
      },
      {
        name: `${kind} to canary`,
        instance: { kind: kind as keyof typeof kinds },
        publish: { canary: canary1 },
        target: 'canary',
        version: 'v1.1.0-canary.1',
        changed: { '.env': set('=v1.0.0', '=canary'), ...canaryFiles },
      },
    ];
  });
  test.for<Row>([
    ...rows,
    {
      name: 'canary to vX.Y.Z',
      instance: { kind: 'generated', tag: 'canary' },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { '.env': set('=canary', '=v1.1.0'), ...shipped('compose.yaml') },
      warns: [/compose\.yaml .*overwritten/],
    },
    {
      name: 'SVC_VERSION is appended where only the default says latest',
      instance: {
        kind: 'generated',
        tag: 'latest',
        release: { version: '1.0.0', files: { 'compose.yaml': generatedCompose('latest') } },
        files: ({ image, parts, port }) => ({
          '.env': `DB_PASSWORD=12345678\nSVC_IMAGE=${image}\nSVC_PARTS=${parts}\nSVC_PORT=${port}`,
        }),
      },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { '.env': add('\nSVC_VERSION=v1.1.0'), ...shipped('compose.yaml') },
    },
    {
      name: 'another tag moves, too: the release says what belongs together',
      instance: {
        kind: 'generated',
        tag: 'nightly',
        release: { version: '1.0.0', files: { 'compose.yaml': generatedCompose('nightly') } },
      },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { '.env': set('=nightly', '=v1.1.0'), ...shipped('compose.yaml') },
    },
    {
      name: 'the version is set in the first of two env files',
      instance: {
        kind: 'generated',
        layout: ({ image, parts, port }) => ({
          files: {
            'compose.yaml': generatedCompose('v1.0.0'),
            'version.env': "export SVC_VERSION = 'v1.0.0' # ours\n",
            'site.env': `DB_PASSWORD=12345678\nSVC_IMAGE=${image}\nSVC_PARTS=${parts}\nSVC_PORT=${port}\n`,
          },
          flags: ['--env-file', 'version.env', '--env-file', 'site.env'],
        }),
      },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: { 'version.env': set('v1.0.0', 'v1.1.0'), ...shipped('compose.yaml') },
    },
    {
      name: 'the files are elsewhere in the image',
      instance: { kind: 'cluster' },
      publish: { 'v1.1.0': { ...releaseFiles.elsewhere, version: '1.1.0' } },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: {
        '.env': set('v1.0.0', 'v1.1.0'),
        ...shipped('compose.yaml', 'compose.cluster.yaml'),
      },
    },
    {
      name: 'a service is new: named, not started',
      instance: { kind: 'generated' },
      publish: { 'v1.1.0': { ...releaseFiles.addsService, version: '1.1.0' } },
      target: 'v1.1.0',
      version: 'v1.1.0',
      changed: {
        '.env': set('v1.0.0', 'v1.1.0'),
        'compose.yaml': releaseFiles.addsService.files['compose.yaml'],
      },
      says: ['cache', 'docker compose up -d cache'],
    },
  ])('$name', async (row) => {
    await updateWell(await create(row), args(row.target), row);
  });

  test.for([
    ['compose.yaml', (text: string) => text.replace('proxy:1', 'proxy:1  # mine')],
    ['compose.cluster.yaml', (text: string) => text.replace('# svc:generated\n', '')],
  ] as const)('%s edited by hand is overwritten, and the warning names the backup', async ([name, edit]) => {
    const instance = await create({ instance: { kind: 'cluster' } });
    const edited = edit(await instance.read(name));
    await instance.write(name, edited);
    const result = await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: {
        '.env': set('v1.0.0', 'v1.1.0'),
        ...shipped('compose.yaml', 'compose.cluster.yaml'),
      },
      warns: [new RegExp(`^${name} .*overwritten.*\\.svc-updater/backup/\\S+/${name}`)],
    });
    const backup = /\.svc-updater\/backup\/\w+/.exec(result.log)?.[0] ?? '';
    expect(await instance.read(join(backup, name))).toBe(edited);
  });

  test('a missing .env is created for the owner alone', async () => {
    const { parts } = inject('host');
    const compose = (image: string, port: number, release: string) =>
      generatedCompose(release, {
        app: `${image}:\${SVC_VERSION:-latest}`,
        parts,
        port: `${port}`,
      }).replaceAll(`\${DB_PASSWORD:?}`, 'db-password');
    const instance = await create({
      instance: {
        kind: 'generated',
        tag: 'latest',
        files: ({ image, port }) => ({ 'compose.yaml': compose(image, port, 'latest'), '.env': null }),
      },
      publish: {},
    });
    const fresh = compose(instance.image, instance.port, 'v1.1.0');
    await instance.publish('v1.1.0', { files: { 'compose.yaml': fresh } });
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: { '.env': 'SVC_VERSION=v1.1.0\n', 'compose.yaml': fresh },
      newMode: '600',
      warns: [/compose\.yaml .*overwritten/],
    });
  });

  test("a literal tag in the user's override file would win: it is bumped, and nothing else there", async () => {
    const override = ({ image }: { image: string }, tag: string) =>
      `# ours\nservices:\n  app:\n    image: "${image}:${tag}" # pinned by Kim\n    labels: {team:  blue}\n`;
    const instance = await create({
      instance: {
        kind: 'generated',
        files: (c) => ({ 'compose.override.yaml': override(c, '1.0.0') }),
        publish: ['1.0.0'],
      },
      publish: { 'v1.1.0': {}, '1.1.0': { version: '1.1.0' } },
    });
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: {
        '.env': set('v1.0.0', 'v1.1.0'),
        'compose.override.yaml': override(instance, '1.1.0'),
        ...shipped('compose.yaml'),
      },
    });
  });

  test('the file is read from an image that is not run, and nothing is left of that', async () => {
    const instance = await create({ instance: { kind: 'generated' }, publish: {} });
    const label = `svc-test=${instance.name}`;
    await instance.publish('v1.1.0', { labels: { 'svc-test': instance.name } });
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: { '.env': set('v1.0.0', 'v1.1.0'), ...shipped('compose.yaml') },
    });
    const { stdout } = await execa('docker', [
      'ps',
      '--all',
      '--filter',
      `label=${label}`,
      '--format',
      '{{.Names}}',
    ]);
    expect(stdout.split('\n').sort()).toEqual([`${instance.name}-app-1`, `${instance.name}-worker-1`]);
    const boots = ['app v1.0.0', 'worker v1.0.0', 'app v1.1.0', 'worker v1.1.0'];
    expect((await instance.boots()).sort()).toEqual(boots.sort());
  });

  test('.svc-updater is made anew where an operator deleted it', async () => {
    const instance = await create({ instance: { kind: 'generated' } });
    await findUnchanged(instance, ['--target', 'v1.0.0']);
    await rm(join(instance.directory, '.svc-updater'), { recursive: true });
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: { '.env': set('v1.0.0', 'v1.1.0'), ...shipped('compose.yaml') },
    });
  });
});
