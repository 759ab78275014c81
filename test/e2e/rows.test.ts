import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, type TestContext, test } from 'vitest';
import type { ExpectedUpdate } from '../judge/judge.ts';
import type { ExpectedLog } from '../judge/log.ts';
import { clusterCompose, composeText, generatedCompose } from '../rig/compose-text.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import type { LayoutContext } from '../rig/layout.ts';
import { type ReleaseOptions, releaseFiles } from '../rig/releases.ts';
import { createInstanceFor } from './support/attempt.ts';
import { findUnchanged, updateWell } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// Rows of the table of docs/contract.md 3.2; test/updater/compose/plan/files/create-prepared-plan.test.ts tests all rows.

/** A run that finds nothing to do. */
interface Idle extends ExpectedLog {
  idle: string | null;
}

interface Step extends ExpectedUpdate, ExpectedLog {
  /** Releases published before the step. By default, the target, if it is a release. */
  publish?: Record<string, ReleaseOptions>;
  /** An edit of the files by the user before the step. */
  edit?: (instance: Instance) => Promise<unknown>;
  /** Null if `--target` is not passed. */
  target: string | null;
}

/** Successive updates of one instance. */
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

const inherited = { versionLabel: 'v0.9.1' } satisfies ReleaseOptions;

/** For a test with several updates on a busy machine. */
const patient = { timeout: 600_000 };

/** Runs a story. Stories run concurrently: none depends on timing, and a single update leaves half a core idle. */
async function tell({ instance: options, steps }: Story, { onTestFinished }: TestContext): Promise<void> {
  const instance = await createInstanceFor(onTestFinished, { publish: [], ...options });
  for (const step of steps) {
    if ('idle' in step) {
      await findUnchanged(instance, args(step.idle), step);
      continue;
    }
    await publishAll(instance, step.publish ?? (step.target?.startsWith('v') ? { [step.target]: {} } : {}));
    await step.edit?.(instance);
    await updateWell(instance, args(step.target), step);
  }
}

async function publishAll(instance: Instance, releases: Record<string, ReleaseOptions>): Promise<void> {
  for (const [tag, release] of Object.entries(releases)) await instance.publish(tag, release);
}

/** Creates an instance, then publishes releases, by default v1.1.0. */
async function create(options: InstanceOptions, publish: Record<string, ReleaseOptions> = { 'v1.1.0': {} }) {
  const instance = await createInstance({ publish: [], ...options });
  await publishAll(instance, publish);
  return instance;
}

/** A compose file that pins both services to these references, with settings that need no `.env`. */
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

describe('user-written compose files', () => {
  const stories: Story[] = [
    {
      name: 'SVC_VERSION in .env: to a release, to canary and back',
      instance: {},
      steps: [
        {
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { '.env': set('v1.0.0', 'v1.1.0') },
          says: [
            'pinned by SVC_VERSION in .env line 7; compose.prod.yaml is user-written',
            'db, proxy and tunnel are not updated',
          ],
        },
        {
          publish: { canary: { version: '1.2.0-canary.9' } },
          target: 'canary',
          version: 'v1.2.0-canary.9',
          changed: { '.env': set('SVC_VERSION=v1.1.0', 'SVC_VERSION=canary') },
        },
        {
          target: 'v2.0.0',
          version: 'v2.0.0',
          changed: { '.env': set('SVC_VERSION=canary', 'SVC_VERSION=v2.0.0') },
          warns: [/v1\.2\.0-canary\.9 → v2\.0\.0 .*Back up the database first/],
        },
        { idle: 'v2.0.0' },
      ],
    },
    {
      name: 'all releases have the version label of their base image',
      instance: { release: inherited },
      steps: [
        {
          publish: { 'v1.1.0': inherited },
          target: 'v1.1.0',
          version: 'v1.1.0',
          changed: { '.env': set('v1.0.0', 'v1.1.0') },
          warns: [/^the version label of \S+:v1\.0\.0 specifies v0\.9\.1, which differs from its tag/],
        },
        {
          publish: { latest: { version: '1.2.0', ...inherited } },
          edit: rewrite('.env', set('=v1.1.0', '=latest')),
          target: null,
          version: 'v1.2.0',
          warns: [/^the version label of \S+:v1\.1\.0 specifies v0\.9\.1, which differs from its tag/],
        },
        {
          publish: { latest: { version: '1.3.0', ...inherited }, 'v1.3.0': inherited },
          target: 'v1.3.0',
          version: 'v1.3.0',
          warns: [/changes the major version/, /:latest, whose label specifies v0\.9\.1, not v1\.3\.0$/],
        },
      ],
    },
    {
      name: 'latest by default: nothing to do until it moves',
      instance: { kind: 'default-latest', tag: 'latest' },
      steps: [
        { idle: null },
        { publish: { latest: { version: '1.1.0' } }, target: null, version: 'v1.1.0' },
        {
          publish: { canary: { version: '1.5.0-canary.1' } },
          target: 'canary',
          version: 'v1.5.0-canary.1',
          changed: { '.env': add('SVC_VERSION=canary') },
        },
      ],
    },
  ];
  test.concurrent.for(stories)('$name', patient, tell);

  test('get a new tag and a new digest if they pin both', async () => {
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
});

describe('generated compose files', () => {
  const shipped = (release: string, ...names: string[]) =>
    Object.fromEntries(
      names.map((name) => [name, (name === 'compose.yaml' ? generatedCompose : clusterCompose)(release)]),
    );
  test('are replaced by an update to vX.Y.Z and to canary', patient, async (context) => {
    const names = ['compose.yaml'];
    await tell(
      {
        name: 'generated',
        instance: { kind: 'generated' },
        steps: [
          {
            target: 'v1.1.0',
            version: 'v1.1.0',
            changed: { '.env': set('v1.0.0', 'v1.1.0'), ...shipped('v1.1.0', ...names) },
            says: ['compose.yaml is generated'],
          },
          {
            publish: { canary: { version: '1.2.0-canary.1' } },
            // The updater must recreate its own directory.
            edit: ({ directory }) => rm(join(directory, '.svc-updater'), { recursive: true }),
            target: 'canary',
            version: 'v1.2.0-canary.1',
            changed: { '.env': set('=v1.1.0', '=canary'), ...shipped('v1.2.0-canary.1', ...names) },
          },
          { idle: null },
        ],
      },
      context,
    );
  });

  test('are replaced in cluster mode after a backup of manual edits, and a new service is not started', async () => {
    const instance = await createInstance({ kind: 'cluster', publish: [] });
    await rewrite('compose.yaml', set('proxy:1', 'proxy:1  # mine'))(instance);
    const edited = await instance.read('compose.yaml');
    await instance.publish('v1.1.0', { ...releaseFiles.addsService, version: '1.1.0' });
    const { log } = await updateWell(instance, ['--target', 'v1.1.0'], {
      version: 'v1.1.0',
      changed: { '.env': set('v1.0.0', 'v1.1.0'), ...releaseFiles.addsService.files },
      says: [
        /not started: cache \(to start them: docker compose -p \S+ -f compose\.yaml -f compose\.cluster\.yaml up -d cache\)/,
      ],
      warns: [/^compose\.yaml .*overwrite.*\.svc-updater\/backup\/\S+\/compose\.yaml/],
    });
    const backup = /\.svc-updater\/backup\/\w+/.exec(log)?.[0] ?? '';
    expect(await instance.read(join(backup, 'compose.yaml'))).toBe(edited);
  });
});
