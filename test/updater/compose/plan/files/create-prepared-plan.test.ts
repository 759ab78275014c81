// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import type { ComposeModel } from '../../../../../src/engine/cli/compose.ts';
import { versionLabel } from '../../../../../src/engine/objects/labels.ts';
import type { Installation } from '../../../../../src/updater/compose/inspect/installation.ts';
import { newestRunningVersionOf } from '../../../../../src/updater/compose/inspect/running-version.ts';
import {
  createPreparedPlan,
  findPulledVersion,
} from '../../../../../src/updater/compose/plan/files/create-prepared-plan.ts';
import { draftFileChanges } from '../../../../../src/updater/compose/plan/files/draft-file-changes.ts';
import { container } from '../../../../build.ts';
import {
  at,
  composeText,
  generated,
  imageOf,
  installed,
  modelOf,
  planTo,
  projectFiles,
} from '../../../../build-plan.ts';

type Texts = Record<string, string>;
type More = NonNullable<Parameters<typeof modelOf>[1]>;
interface Case {
  to?: string | null;
  version?: string | null;
  /** The compose file in the release. */
  ships?: string;
  /** Changes compose's model of the draft. */
  after?: (model: ComposeModel) => ComposeModel;
}

/** The plan for the draft of an installation, with a compose model that is derived from the files. */
function planned(
  from: Installation,
  { to = 'v1.1.0', version = null, ships, after = (model) => model }: Case = {},
) {
  const plan = planTo(to, from);
  const text = { path: at('compose.yaml'), text: ships ?? '', description: 'the file of the new release' };
  const { draft, expected } = draftFileChanges(plan, new Map(), ships === undefined ? [] : [text]);
  const model = after(modelOf(draft.files));
  return createPreparedPlan(plan, {
    draft,
    expected,
    model,
    hashedNetworks: new Set(),
    images: new Map(),
    version,
  });
}

const shared = composeText({
  app: 'acme/svc:${V}',
  worker: 'acme/worker:${V}',
  migrate: 'acme/svc:${V}',
  db: 'postgres:17',
});
const env = { '.env': 'V=v1.0.0\n' };
const apart = composeText({ app: 'acme/svc:v1.0.0', worker: 'acme/svc:v1.0.0', migrate: 'acme/svc:v1.0.0' });

describe('planFiles, if a release has other services', () => {
  const own = 'acme/svc:${SVC_VERSION}';
  const from = installed(
    {
      'compose.yaml': generated({ app: own, worker: own, db: 'postgres:15' }),
      '.env': 'SVC_VERSION=v1.0.0\n',
    },
    {
      kind: 'generated',
      containers: [
        container('app-1'),
        container('worker-1'),
        container('db-1', { imageReference: 'postgres:15' }),
      ],
    },
  );
  const ships = (images: Record<string, string>) => generated({ app: 'acme/svc:${SVC_VERSION}', ...images });
  const needing = (needs: Record<string, { condition?: string }>) => (model: ComposeModel) => {
    Object.assign(model.services.app ?? {}, { depends_on: needs });
    return model;
  };

  it('adds new services that the app needs, and runs one-time services as migrations', () => {
    const text = ships({
      worker: 'acme/svc:${SVC_VERSION}',
      db: 'postgres:15',
      cache: 'redis:8',
      init: 'busybox:1',
      cron: 'busybox:1',
    });
    const after = needing({ cache: {}, init: { condition: 'service_completed_successfully' } });
    const { added, migrations, newServices, references } = planned(from, { ships: text, after });
    expect({ added, migrations, newServices }).toEqual({
      added: ['cache'],
      migrations: ['init'],
      newServices: ['cron'],
    });
    expect([references.get('cache'), references.get('init'), references.has('cron')]).toEqual([
      'redis:8',
      'busybox:1',
      false,
    ]);
  });

  it('does not update a worker that the release removed, and does not warn about that worker', () => {
    const { updates, references, laterWarnings } = planned(from, { ships: ships({ db: 'postgres:15' }) });
    expect(updates.map(({ service }) => service)).toEqual(['app']);
    expect([...references.keys()]).toEqual(['app']);
    expect(laterWarnings).toEqual([]);
  });

  it('warns about a database with another major version, and does not list it as a changed service', () => {
    const text = ships({ worker: 'acme/svc:${SVC_VERSION}', db: 'postgres:17' });
    const { dumpFirst, changedServices, laterWarnings } = planned(from, { ships: text });
    expect(dumpFirst).toEqual([
      expect.stringMatching(/^the files change db from postgres:15 to postgres:17, /),
    ]);
    expect(laterWarnings).toEqual(dumpFirst);
    expect(changedServices).toEqual([]);
  });
});

describe('planFiles', () => {
  it('returns the changes, the model and the new images', () => {
    const from = installed({ 'compose.yaml': shared, ...env });
    const { changes, references, model, ...rest } = planned(from, { version: '1.1.0' });
    expect(changes).toEqual([
      {
        path: at('.env'),
        before: 'V=v1.0.0\n',
        after: 'V=v1.1.0\n',
        description: '.env line 1: v1.0.0 → v1.1.0',
      },
    ]);
    expect([...references]).toEqual([
      ['app', 'acme/svc:v1.1.0'],
      ['worker', 'acme/worker:v1.1.0'],
    ]);
    expect(model.services.db?.image).toBe('postgres:17');
    expect(rest).toMatchObject({
      version: '1.1.0',
      migrations: [],
      laterWarnings: [],
      alsoMoved: ['migrate'],
      newServices: [],
      changedServices: [],
    });
  });

  it.each<[string, Texts, string | null, string[]]>([
    [
      'that shares the pin moves with it',
      { 'compose.yaml': shared, ...env },
      'v1.1.0',
      ['acme/svc:v1.1.0', 'acme/worker:v1.1.0', 'acme/svc:v1.1.0'],
    ],
    [
      'with a pin of its own keeps its image',
      { 'compose.yaml': apart },
      'v1.1.0',
      ['acme/svc:v1.1.0', 'acme/svc:v1.1.0'],
    ],
  ])('a follower %s', (_, texts, to, expected) => {
    const from = installed(texts, { followers: { migrate: [container('migrate-1')] } });
    const { references, alsoMoved } = planned(from, { to });
    expect([...references.values()]).toEqual(expected);
    // The update recreates the follower, so `alsoMoved` does not list it.
    expect(alsoMoved).toEqual([]);
  });

  it('lists the services that are new in a generated file', () => {
    const from = installed(
      {
        'compose.yaml': generated({ app: 'acme/svc:${SVC_VERSION}', db: 'postgres:17' }),
        '.env': 'SVC_VERSION=v1.0.0',
      },
      { kind: 'generated' },
    );
    const ships = generated({
      app: 'acme/svc:${SVC_VERSION}',
      db: 'postgres:18',
      cache: 'valkey:8',
      cron: 'acme/svc:${SVC_VERSION}',
    });
    expect(planned(from, { ships })).toMatchObject({ newServices: ['cache', 'cron'], alsoMoved: [] });
  });

  it('lists other services that the change would recreate', () => {
    const text = `${shared}  cache:\n    image: valkey:8\n    env_file: .env\n  tool:\n    image: tool:1\n    env_file: other.env\n`;
    const sets = (version: string): More => ({ db: { environment: { V: version } } });
    const files = projectFiles({ 'compose.yaml': text, ...env });
    const names = ['app', 'worker', 'migrate', 'db', 'cache', 'tool'];
    const from = installed(files, {
      model: modelOf(files, sets('v1.0.0')),
      containers: names.map((name) => container(`${name}-1`)),
    });
    const after = (model: ComposeModel): ComposeModel => ({
      ...model,
      services: { ...model.services, db: { ...model.services.db, ...sets('v1.1.0').db } },
    });
    expect(planned(from, { after })).toMatchObject({
      alsoMoved: ['migrate'],
      changedServices: ['cache', 'db'],
    });
  });

  const major =
    'v1.0.0 → v2.0.0 changes the major version. Back up the database first or use --restore-point; otherwise, the data cannot be restored';
  it.each<[string, string, string | null, string | null, string | null, string[]]>([
    ['a floating tag that brings one', 'latest', null, '1.0.0', '2.0.0', [major]],
    ['a target, of which the first half of the plan warned', 'latest', 'v2.0.0', '1.0.0', '2.0.0', []],
  ])('warns about a major version change: %s', (_, tag, to, runningVersion, version, expected) => {
    const from = installed({ 'compose.yaml': composeText({ app: `acme/svc:${tag}` }) }, { runningVersion });
    expect(planned(from, { to, version }).laterWarnings).toEqual(expected);
  });
});

describe('planFiles refuses', () => {
  const expected = (code: string, message: string, detail: readonly string[] = []) =>
    expect.objectContaining({ code, message, detail });
  const unproven = 'the edit would change more than the version, so no file was written';

  it('an edit that gives compose another image', () => {
    const from = installed({ 'compose.yaml': shared, ...env });
    const after = (model: ComposeModel) => ({
      ...model,
      services: { ...model.services, db: { image: 'postgres:18' } },
    });
    const detail = ['services.db.image: "postgres:17" → "postgres:18"'];
    expect(() => planned(from, { after })).toThrow(expected('proof-failed', unproven, detail));
  });

  it('an edit of a variable that is used for more than the version', () => {
    const mounts = (version: string): More => ({
      app: { volumes: [{ type: 'bind', source: `/data/${version}`, target: '/data' }] },
    });
    const files = projectFiles({ 'compose.yaml': shared, ...env });
    const from = installed(files, { model: modelOf(files, mounts('v1.0.0')) });
    const after = (model: ComposeModel): ComposeModel => ({
      ...model,
      services: { ...model.services, app: { ...model.services.app, ...mounts('v1.1.0').app } },
    });
    const message =
      'changing V in .env line 1 would affect more than the version: services.app.volumes.0.source: "/data/v1.0.0" → "/data/v1.1.0"';
    expect(() => planned(from, { after })).toThrow(expected('pin-unsupported', message));
  });

  it('a generated file with another image, but allows all other changes', () => {
    const from = installed(
      {
        'compose.yaml': generated({ app: 'acme/svc:${SVC_VERSION}', db: 'postgres:17' }),
        '.env': 'SVC_VERSION=v1.0.0',
      },
      { kind: 'generated', containers: [container('app-1'), container('db-1')] },
    );
    const ships = (tag: string) => generated({ app: `acme/svc:${tag}`, db: 'postgres:18' });
    const { references, changedServices } = planned(from, { ships: ships('${SVC_VERSION}') });
    expect(references.get('app')).toBe('acme/svc:v1.1.0');
    expect(changedServices).toEqual(['db']);
    expect(() => planned(from, { ships: ships('v1.0.9') })).toThrow(
      expected('proof-failed', "with the release's compose files, app would run acme/svc:v1.0.9, not v1.1.0"),
    );
  });
});

describe('checkPulledVersion', () => {
  const from = (runningVersion: string | null) =>
    installed(
      { 'compose.yaml': composeText({ app: 'acme/svc:latest', worker: 'acme/worker:latest' }) },
      { runningVersion },
    );
  const pulled = (running: string | null, label?: string, worker = '0.1.0') =>
    findPulledVersion(
      planTo(null, from(running)),
      new Map([
        ['acme/svc:latest', imageOf('1', label)],
        ['acme/worker:latest', imageOf('2', worker)],
      ]),
    );

  it.each<[string, string | null, string | undefined, string | null]>([
    ['a newer one', '1.0.0', '1.1.0', '1.1.0'],
    ['one that tells less than what runs', '4.0.15.2941', '4.0.15', '4.0.15'],
    ['none, where there is no label', '1.0.0', undefined, null],
  ])('returns the version label of the app image: %s', (_, running, label, expected) => {
    expect(pulled(running, label)).toBe(expected);
  });

  it.each<[string, string, string, string | null]>([
    ['v2.3.0', '1.9.1', '1.9.1', null],
    ['2.3', '1.9.1', '1.9.1', null],
    ['2.3', '2.3.7', '2.4.0', '2.4.0'],
    ['latest', '1.9.1', '1.9.2', '1.9.2'],
  ])(
    'trusts the label only if the label of the running image matches its tag: %s, %s',
    (tag, was, label, expected) => {
      const labels = { ...container('app-1').labels, [versionLabel]: was };
      const app = container('app-1', { imageReference: `acme/svc:${tag}`, labels });
      const from = installed(
        { 'compose.yaml': composeText({ app: 'acme/svc:latest' }) },
        { services: { app: [app] }, runningVersion: newestRunningVersionOf([app]) },
      );
      const plan = planTo(null, from);
      expect(findPulledVersion(plan, new Map([[plan.app.to, imageOf('1', label)]]))).toBe(expected);
      const warning = `the version label of acme/svc:${tag} specifies ${was}, which differs from its tag; the updater ignores this label and compares tags`;
      expect(plan.warnings).toEqual(expected === null ? [warning] : []);
    },
  );

  it.each([
    [
      '32.0.1',
      '31.0.9',
      'acme/next-cloud:apache points to 31.0.9, which is older than the running version 32.0.1',
    ],
    ['31.0.9', '32.0.1', null],
    ['latest', '31.0.9', null],
  ])(
    'reads the version of official images from their environment variable: %s to %s',
    (was, next, message) => {
      const saying = (id: string, version: string) =>
        imageOf(id, undefined, { env: new Map([['NEXT_CLOUD_VERSION', version]]) });
      const app = 'acme/next-cloud:apache';
      const from = installed(
        { 'compose.yaml': composeText({ app }) },
        {
          runningVersion: null,
          prefix: '',
          imagesInUse: new Map([['sha256:old', saying('sha256:old', was)]]),
        },
      );
      const judge = () => findPulledVersion(planTo(null, from), new Map([[app, saying('sha256:new', next)]]));
      if (message === null) expect(judge()).toBeNull();
      else expect(judge).toThrow(expect.objectContaining({ code: 'downgrade', message }));
    },
  );

  it.each<[running: string | null, label: string | undefined]>([
    ['2025.10.1', undefined],
    [null, '2025.11.0'],
  ])('does not compare the tag %s or the label %s with a variable of the base image', (running, label) => {
    const env = (version: string) => ({ env: new Map([['NEXTCLOUD_VERSION', version]]) });
    const used = imageOf('sha256:old', undefined, env('3000.0.1'));
    const from = installed(
      { 'compose.yaml': composeText({ app: 'acme/nextcloud:latest' }) },
      { runningVersion: running, prefix: '', imagesInUse: new Map([['sha256:old', used]]) },
    );
    const next = imageOf('sha256:new', label, env('32.0.1'));
    const pulled = findPulledVersion(planTo(null, from), new Map([['acme/nextcloud:latest', next]]));
    expect(pulled).toBe(label ?? null);
  });

  it('refuses an older version, because migrations cannot be undone', () => {
    const message =
      'acme/svc:latest points to v1.1.0-canary.9, which is older than the running version v1.1.0-canary.10';
    expect(() => pulled('1.1.0-canary.10', '1.1.0-canary.9')).toThrow(
      expect.objectContaining({ code: 'downgrade', message }),
    );
  });
});
