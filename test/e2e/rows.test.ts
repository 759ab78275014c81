import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, type TestContext, test } from 'vitest';
import { type ExpectedUpdate, judgeUntouched } from '../judge/judge.ts';
import type { ExpectedLog } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { clusterCompose, composeText, generatedCompose } from '../rig/compose-text.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { type ReleaseOptions, releaseFiles } from '../rig/releases.ts';
import { createInstanceFor, expectAttempt } from './support/attempt.ts';
import { findUnchanged, runUpdater, updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance, remakeNetwork } from './support/instance.ts';

// The table of docs/contract.md 3.2, with what the promises after it change of it.

/** A run that finds nothing to do. */
interface Idle extends ExpectedLog {
  idle: string | null;
}

interface Step extends ExpectedUpdate, ExpectedLog {
  /** Published just before; default the target, where it is a release. */
  publish?: Record<string, ReleaseOptions>;
  /** What a person does to the files just before. */
  edit?: (instance: Instance) => Promise<unknown>;
  /** Null for none. */
  target: string | null;
  /** Flags beside it. */
  accept?: string[];
}

/** Updates of one instance, one after the other. */
interface Story {
  name: string;
  instance: InstanceOptions;
  steps: (Step | Idle)[];
}

const set = (from: string, to: string) => (text: string) => text.replaceAll(from, to);
const add = (line: string) => (text: string) => `${text}${line}\n`;
const args = (target: string | null) => (target === null ? [] : ['--target', target]);
const rewrite =
  (path: string, change: (text: string) => string) =>
  async (instance: Instance): Promise<void> => {
    const text = await instance.read(path);
    const changed = change(text);
    if (changed === text) throw new Error(`${path} is not changed by its edit`);
    await instance.write(path, changed);
  };

/** For one with several updates, beside others, on a machine that has more to do. */
const patient = { timeout: 600_000 };

/** Stories run side by side: none of them looks at the clock, and an update alone leaves half a core idle. */
async function tell({ instance: options, steps }: Story, { onTestFinished }: TestContext): Promise<void> {
  const instance = await createInstanceFor(onTestFinished, { publish: [], ...options });
  for (const step of steps) {
    if ('idle' in step) {
      await findUnchanged(instance, args(step.idle), step);
      continue;
    }
    await publishAll(instance, step.publish ?? (step.target?.startsWith('v') ? { [step.target]: {} } : {}));
    await step.edit?.(instance);
    await updateWell(instance, [...args(step.target), ...(step.accept ?? [])], step);
  }
}

async function publishAll(instance: Instance, releases: Record<string, ReleaseOptions>): Promise<void> {
  for (const [tag, release] of Object.entries(releases)) await instance.publish(tag, release);
}

/** An instance, and what is published once it runs; v1.1.0 by default. */
async function create(options: InstanceOptions, publish: Record<string, ReleaseOptions> = { 'v1.1.0': {} }) {
  const instance = await createInstance({ publish: [], ...options });
  await publishAll(instance, publish);
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

describe('user-written', () => {
  const word = (name: string) => `${name} is at nightly, which is no release tag`;
  const stories: Story[] = [
    {
      name: 'SVC_VERSION in .env: every move there is',
      instance: {},
      steps: [
        {
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { '.env': set('v1.0.0', 'v1.1.0') },
          says: [
            'compose.prod.yaml is user-written, pinned by SVC_VERSION in .env line 7',
            'db, proxy and tunnel stay',
          ],
        },
        {
          publish: { canary: { version: '1.2.0-canary.9' } },
          target: 'canary',
          version: 'v1.2.0-canary.9',
          changed: { '.env': set('SVC_VERSION=v1.1.0', 'SVC_VERSION=canary') },
        },
        {
          publish: { canary: { version: '1.2.0-canary.10' } },
          target: 'canary',
          version: 'v1.2.0-canary.10',
        },
        { publish: { canary: { version: '1.2.0-canary.11' } }, target: null, version: 'v1.2.0-canary.11' },
        {
          target: 'v1.2.0',
          version: 'v1.2.0',
          changed: { '.env': set('SVC_VERSION=canary', 'SVC_VERSION=v1.2.0') },
          says: [/done updated v1\.2\.0-canary\.11 → v1\.2\.0 /],
        },
        {
          target: 'v2.0.0',
          version: 'v2.0.0',
          changed: { '.env': set('v1.2.0', 'v2.0.0') },
          warns: [/v1\.2\.0 → v2\.0\.0 .*dump the database/],
        },
        { idle: 'v2.0.0' },
      ],
    },
    {
      name: 'inline, plain and quoted',
      instance: { kind: 'inline' },
      steps: [
        { target: 'v1.1.0', version: 'v1.1.0', changed: { 'compose.yaml': set('v1.0.0', 'v1.1.0') } },
        {
          publish: { canary: { version: '1.2.0-canary.1' } },
          target: 'canary',
          version: 'v1.2.0-canary.1',
          changed: { 'compose.yaml': set(':v1.1.0', ':canary') },
        },
        { target: 'v1.2.0', version: 'v1.2.0', changed: { 'compose.yaml': set(':canary', ':v1.2.0') } },
      ],
    },
    {
      name: 'a canary of a release in the default of a variable that nobody sets, then bumped by hand and accepted',
      instance: { ...alone, kind: 'default-tag', tag: 'v1.1.0-canary.2' },
      steps: [
        {
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { 'compose.yaml': set('v1.1.0-canary.2', 'v1.1.0') },
        },
        // A shell may as well have set v1.1.0: the files alone do not tell.
        {
          edit: async (instance) => {
            await rewrite('compose.yaml', set('v1.1.0', 'v1.2.0'))(instance);
            await expectAttempt(instance, ['--target', 'v1.2.0'], {
              exitCode: 3,
              says: [/app: the files say \S+:v1\.2\.0, not \S+:v1\.1\.0 \(no file sets SVC_VERSION\)/],
              ends: [
                'Add SVC_VERSION=v1.1.0 to ',
                'its default was edited since, run docker compose up -d first.',
              ],
            });
          },
          target: 'v1.2.0',
          accept: ['--accept-drift'],
          version: 'v1.2.0',
          warns: ['app', 'worker'].map(
            (service) => new RegExp(`^accepted: ${service}: the files say .*no file sets SVC_VERSION`),
          ),
        },
      ],
    },
    {
      name: 'without the v, and a label and an env_file from the same variable',
      instance: {
        ...alone,
        tag: '1.0.0',
        layout: (c) => ({
          files: {
            'compose.yaml': composeText({
              app: `${c.image}:\${SVC_VERSION}`,
              parts: c.parts,
              extra: { app: `labels: { "svc.version": "\${SVC_VERSION}" }\nenv_file: .env` },
            }),
            '.env': `DB_PASSWORD=12345678\nSVC_PORT=${c.port}\nSVC_VERSION=${c.tag}\n`,
          },
          flags: [],
        }),
      },
      steps: [
        {
          publish: { '1.1.0': {} },
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { '.env': set('SVC_VERSION=1.0.0', 'SVC_VERSION=1.1.0') },
        },
      ],
    },
    {
      name: 'with a variant, without the v',
      instance: { ...alone, kind: 'inline', tag: '1.0.0-alpine', release: { version: '1.0.0' } },
      steps: [
        {
          publish: { '1.1.0-alpine': { version: '1.1.0' } },
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { 'compose.yaml': set('1.0.0-alpine', '1.1.0-alpine') },
        },
      ],
    },
    {
      name: 'app and worker pinned in different places',
      instance: {
        ...alone,
        layout: pinned(
          (c) => `${c.image}:v1.0.0`,
          (c) => `"${c.image}:\${WORKER_VERSION:-v1.0.0}"`,
        ),
        env: 'WORKER_VERSION=1.0.0\n',
        publish: ['1.0.0'],
      },
      steps: [
        {
          publish: { 'v1.1.0': {}, '1.1.0': {} },
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { 'compose.yaml': set(':v1.0.0\n', ':v1.1.0\n'), '.env': set('=1.0.0', '=1.1.0') },
        },
      ],
    },
    {
      name: 'latest in .env',
      instance: { tag: 'latest' },
      steps: [
        { publish: { latest: { version: '1.1.0' } }, target: 'v1.1.0', version: 'v1.1.0' },
        {
          publish: { latest: { version: '2.0.0' } },
          target: null,
          version: 'v2.0.0',
          warns: [/v1\.1\.0 → v2\.0\.0 .*dump the database/],
        },
        {
          publish: { canary: { version: '2.1.0-canary.1' } },
          target: 'canary',
          version: 'v2.1.0-canary.1',
          changed: { '.env': set('SVC_VERSION=latest', 'SVC_VERSION=canary') },
        },
      ],
    },
    {
      name: 'latest by default: nothing to do until it moves',
      instance: { kind: 'default-latest', tag: 'latest' },
      steps: [
        { idle: null },
        { publish: { latest: { version: '1.1.0' } }, target: null, version: 'v1.1.0' },
        { publish: { latest: { version: '1.2.0' } }, target: 'v1.2.0', version: 'v1.2.0' },
        {
          publish: { latest: { version: '1.4.0' } },
          target: 'v1.3.0',
          version: 'v1.4.0',
          warns: [/latest.*v1\.4\.0.*not v1\.3\.0/],
          says: [/done updated v1\.2\.0 → latest \(v1\.4\.0\)/],
        },
        {
          publish: { canary: { version: '1.5.0-canary.1' } },
          target: 'canary',
          version: 'v1.5.0-canary.1',
          changed: { '.env': add('SVC_VERSION=canary') },
        },
      ],
    },
    {
      name: 'latest by default, and the variable is set to nothing',
      instance: { ...alone, kind: 'default-latest', tag: 'latest', env: 'SVC_VERSION=\n# the end' },
      steps: [
        {
          publish: { canary: canary1 },
          target: 'canary',
          version: 'v1.1.0-canary.1',
          changed: { '.env': set('SVC_VERSION=', 'SVC_VERSION=canary') },
        },
      ],
    },
    {
      name: 'no tag',
      instance: { ...alone, tag: 'latest', layout: pinned((c) => c.image) },
      steps: [
        { publish: { latest: { version: '1.1.0' } }, target: 'v1.1.0', version: 'v1.1.0' },
        {
          publish: { canary: { version: '1.2.0-canary.1' } },
          target: 'canary',
          version: 'v1.2.0-canary.1',
          changed: { 'compose.yaml': (text) => text.replaceAll('/svc\n', '/svc:canary\n') },
        },
      ],
    },
    {
      name: 'another tag stays, whatever the target is',
      instance: { kind: 'inline', tag: 'nightly', release: { version: '1.0.0' } },
      steps: (['v1.1.0', 'canary', null] as const).map((target, index) => ({
        publish: { nightly: { version: `1.${index + 1}.0` } },
        target,
        version: `v1.${index + 1}.0`,
        // What was asked for is what comes: there is nothing to warn of.
        warns: target === 'v1.1.0' ? [] : [word('app'), word('worker')],
      })),
    },
  ];
  test.concurrent.for(stories)('$name', patient, tell);

  test('tag and digest: both move', async () => {
    const instance = await create({
      ...alone,
      layout: pinned(
        (c) => `${c.image}:v1.0.0`,
        (c) => `'${c.image}:v1.0.0' # no digest here`,
      ),
    });
    const [old, fresh] = [await instance.publish('v1.0.0'), await instance.publish('v1.1.0')];
    const text = await instance.read('compose.yaml');
    await instance.write('compose.yaml', text.replace(':v1.0.0\n', `:v1.0.0@${old}\n`));
    await instance.compose('up', '-d', 'app');
    await instance.waitUntilHealthy();
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: { 'compose.yaml': (before) => set('v1.0.0', 'v1.1.0')(before).replace(old, fresh) },
    });
    const app = (await instance.containers())[`${instance.name}-app-1`];
    expect(app?.reference).toBe(`${instance.image}:v1.1.0@${fresh}`);
  });

  test('a release tag beside latest, which must lead there', async () => {
    const instance = await create(
      {
        layout: pinned(
          (c) => `${c.image}:v1.0.0`,
          (c) => `${c.image}:\${WORKER_VERSION:-latest}`,
        ),
        tag: 'latest',
        publish: ['v1.0.0'],
      },
      { 'v1.1.0': {}, latest: { version: '1.1.0' } },
    );
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: { 'compose.yaml': set(':v1.0.0\n', ':v1.1.0\n') },
    });

    // The worker would be left behind.
    await instance.publish('v1.2.0');
    await expectAttempt(instance, ['--target', 'v1.2.0'], {
      exitCode: 3,
      says: [`${instance.image}:latest leads to v1.1.0, not to v1.2.0`],
      ends: ['nothing was changed, v1.1.0 runs on', 'without --target'],
    });
  });
});

test('a major change is recalled by plan, which changes nothing', async () => {
  const instance = await create(alone, { 'v2.0.0': {} });
  const before = await look(instance);
  const result = await runUpdater(instance, ['plan', '--target', 'v2.0.0']);
  expect(result.exitCode).toBe(0);
  expect(result.log).toMatch(/WARN .*v1\.0\.0 → v2\.0\.0 .*dump the database/);
  expect(result.log).toContain('-SVC_VERSION=v1.0.0');
  expect(result.log).toContain('+SVC_VERSION=v2.0.0');
  expect(judgeUntouched(before, await look(instance))).toEqual([]);
});

describe('generated', () => {
  const shipped = (release: string, ...names: string[]) =>
    Object.fromEntries(
      names.map((name) => [name, (name === 'compose.yaml' ? generatedCompose : clusterCompose)(release)]),
    );
  const both = ['compose.yaml', 'compose.cluster.yaml'];
  const kinds = { generated: ['compose.yaml'], 'cluster-only': ['compose.cluster.yaml'] } as const;
  const moves = Object.entries(kinds).map(
    ([kind, names]): Story => ({
      name: `${kind}: to vX.Y.Z, to canary and back`,
      instance: { kind: kind as keyof typeof kinds },
      steps: [
        {
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { '.env': set('v1.0.0', 'v1.1.0'), ...shipped('v1.1.0', ...names) },
          says: [`${names[0]} is generated`],
        },
        {
          publish: { canary: { version: '1.2.0-canary.1' } },
          // What the updater keeps is made anew.
          edit: ({ directory }) => rm(join(directory, '.svc-updater'), { recursive: true }),
          target: 'canary',
          version: 'v1.2.0-canary.1',
          changed: { '.env': set('=v1.1.0', '=canary'), ...shipped('v1.2.0-canary.1', ...names) },
        },
        ...(kind === 'generated' ? [{ idle: null }, { idle: 'canary' }] : []),
        {
          target: 'v1.2.0',
          version: 'v1.2.0',
          changed: { '.env': set('=canary', '=v1.2.0'), ...shipped('v1.2.0', ...names) },
        },
        ...(kind === 'generated' ? [{ idle: 'v1.2.0' }] : []),
      ],
    }),
  );
  test.concurrent.for<Story>([
    ...moves,
    {
      name: 'SVC_VERSION is appended where only the default says latest',
      instance: {
        ...alone,
        kind: 'generated',
        tag: 'latest',
        release: { version: '1.0.0', files: { 'compose.yaml': generatedCompose('latest') } },
        files: ({ image, parts, port }) => ({
          '.env': `DB_PASSWORD=12345678\nSVC_IMAGE=${image}\nSVC_PARTS=${parts}\nSVC_PORT=${port}`,
        }),
      },
      steps: [
        {
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { '.env': add('\nSVC_VERSION=v1.1.0'), ...shipped('v1.1.0', 'compose.yaml') },
        },
      ],
    },
    {
      name: 'another tag, in the first of two env files, moves, too, for the release says what belongs together',
      instance: {
        ...alone,
        tag: 'nightly',
        release: { version: '1.0.0', files: { 'compose.yaml': generatedCompose('nightly') } },
        layout: ({ image, parts, port, tag }) => ({
          files: {
            'compose.yaml': generatedCompose(tag),
            'version.env': `export SVC_VERSION = '${tag}' # ours\n`,
            'site.env': `DB_PASSWORD=12345678\nSVC_IMAGE=${image}\nSVC_PARTS=${parts}\nSVC_PORT=${port}\n`,
          },
          flags: ['--env-file', 'version.env', '--env-file', 'site.env'],
        }),
      },
      steps: [
        {
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { 'version.env': set('nightly', 'v1.1.0'), ...shipped('v1.1.0', 'compose.yaml') },
        },
      ],
    },
  ])('$name', patient, tell);

  test('cluster: to vX.Y.Z, to canary and back; edited by hand, with the files elsewhere, with a new service', async () => {
    const instance = await create({ kind: 'cluster' });
    const overwrite = async (
      name: string,
      edit: (text: string) => string,
      target: string,
      step: ExpectedUpdate,
    ) => {
      await rewrite(name, edit)(instance);
      const edited = await instance.read(name);
      const result = await updateWell(instance, ['--target', target], {
        ...step,
        warns: [new RegExp(`^${name} .*overwritten.*\\.svc-updater/backup/\\S+/${name}`)],
      });
      const backup = /\.svc-updater\/backup\/\w+/.exec(result.log)?.[0] ?? '';
      expect(await instance.read(join(backup, name))).toBe(edited);
    };
    await overwrite('compose.yaml', set('proxy:1', 'proxy:1  # mine'), 'v1.1.0', {
      version: 'v1.1.0',
      changed: { '.env': set('v1.0.0', 'v1.1.0'), ...shipped('v1.1.0', ...both) },
    });
    await instance.publish('canary', { version: '1.2.0-canary.1' });
    await updateWell(instance, ['--target', 'canary'], {
      version: 'v1.2.0-canary.1',
      changed: { '.env': set('=v1.1.0', '=canary'), ...shipped('v1.2.0-canary.1', ...both) },
    });
    // Without the marker it belongs to the install all the same.
    await instance.publish('v1.2.0', releaseFiles.elsewhere);
    await overwrite('compose.cluster.yaml', (text) => text.replace(/^.*\n/, ''), 'v1.2.0', {
      version: 'v1.2.0',
      changed: { '.env': set('=canary', '=v1.2.0'), ...shipped('v1.2.0', ...both) },
    });
    // Named, and not started.
    await instance.publish('v1.3.0', releaseFiles.addsService);
    await updateWell(instance, ['--target', 'v1.3.0'], {
      version: 'v1.3.0',
      changed: { '.env': set('v1.2.0', 'v1.3.0'), ...releaseFiles.addsService.files },
      says: [
        /not started: cache; docker compose -p \S+ -f compose\.yaml -f compose\.cluster\.yaml up -d cache /,
      ],
    });
    await findUnchanged(instance, ['--target', 'v1.3.0']);
  });

  test('what a release changes beside app and worker is named', async () => {
    const instance = await create({ kind: 'generated' }, {});
    // One with a hash would be torn down, and is refused.
    await remakeNetwork(instance, 'internal', { hash: false });
    const files = {
      'compose.yaml': generatedCompose('v1.1.0', {
        network: 'driver_opts: { com.docker.network.driver.mtu: "1400" }',
        environment: { SMTP_URL: `\${SMTP_URL}` },
        extra: { proxy: 'labels: { fresh: "yes" }' },
      }).replace(/^ {2}db:$\nnetworks:/m, '  db: { labels: { fresh: "yes" } }\nnetworks:'),
    };
    await instance.publish('v1.1.0', { files });
    const stays = (what: string) => new RegExp(`changes the definition of ${what}, which stays as it is`);
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: { '.env': set('v1.0.0', 'v1.1.0'), ...files },
      warns: [
        /the release uses SMTP_URL, which no file sets: .*Add SMTP_URL=… to .*\.env/,
        stays('network internal'),
        stays('volume db'),
      ],
      says: [/changed in this release and not recreated: proxy; docker compose -p \S+ up -d proxy does it/],
    });
  });

  test('a missing .env is created for the owner alone', async () => {
    const { parts } = inject('host');
    const compose = (image: string, port: number, release: string) =>
      generatedCompose(release, {
        app: `${image}:\${SVC_VERSION:-latest}`,
        parts,
        port: `${port}`,
      }).replaceAll(`\${DB_PASSWORD:?}`, 'db-password');
    const instance = await create(
      {
        ...alone,
        kind: 'generated',
        tag: 'latest',
        files: ({ image, port }) => ({ 'compose.yaml': compose(image, port, 'latest'), '.env': null }),
      },
      {},
    );
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
    const instance = await create(
      {
        ...alone,
        kind: 'generated',
        files: (c) => ({ 'compose.override.yaml': override(c, '1.0.0') }),
        publish: ['1.0.0'],
      },
      {},
    );
    await findUnchanged(instance, ['--target', 'v1.0.0']);
    const labels = { 'svc-test': instance.name };
    await publishAll(instance, { 'v1.1.0': { labels }, '1.1.0': { labels } });
    await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: {
        '.env': set('v1.0.0', 'v1.1.0'),
        'compose.override.yaml': override(instance, '1.1.0'),
        ...shipped('v1.1.0', 'compose.yaml'),
      },
    });

    // The files were read from an image that was not run.
    const filter = `label=svc-test=${instance.name}`;
    const { stdout } = await execa('docker', ['ps', '--all', '--filter', filter, '--format', '{{.Names}}']);
    expect(stdout.split('\n').sort()).toEqual([`${instance.name}-app-1`, `${instance.name}-worker-1`]);
    const boots = ['app v1.0.0', 'worker v1.0.0', 'app v1.1.0', 'worker v1.1.0'];
    expect((await instance.boots()).sort()).toEqual(boots.sort());
  });
});
