import { describe, expect, it } from 'vitest';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import type { Mount } from '../../../../src/core/mounts/host-paths.ts';
import { createProduct, svcProduct } from '../../../../src/core/names/product.ts';
import type { ComposeService } from '../../../../src/engine/cli/compose.ts';

import {
  type DataSelectionFacts,
  evaluateDataSettings,
  formatDataSettingProposal,
  requireDataCoverage,
} from '../../../../src/updater/data/selection/evaluate-data.ts';
import { container } from '../../../build.ts';

/** Parses `image data:/var/lib/x ./a:/b:ro [save] >db`: image, mounts, label and dependencies. */
function service(text: string): ComposeService {
  const [image = '', ...words] = text.split(' ');
  const label = words.find((word) => word.startsWith('['))?.slice(1, -1);
  const needs = words.filter((word) => word.startsWith('>')).map((word) => [word.slice(1), {}]);
  return {
    image,
    labels: label === undefined ? {} : { 'svc.data': label },
    depends_on: Object.fromEntries(needs),
    volumes: words
      .filter((word) => !/^[[>]/.test(word))
      .map((word) => {
        const [source = '', target = '', mode] = word.split(':');
        return { type: source.startsWith('/') ? 'bind' : 'volume', source, target, read_only: mode === 'ro' };
      }),
  };
}

/** A container for each service, with the mounts of the compose file. */
const running = (services: Record<string, string>) =>
  Object.entries(services).map(([name, text]) =>
    container(`${name}-1`, {
      mounts: (service(text).volumes ?? []).map(({ type, source = '', target, read_only }) => ({
        ...{ type, source },
        ...{ destination: target, writable: read_only !== true },
      })),
    }),
  );

/** Facts about a project whose app and worker are updated. */
const facts = (
  services: Record<string, string>,
  changes: Partial<DataSelectionFacts> = {},
): DataSelectionFacts => ({
  model: {
    name: 'svc',
    services: Object.fromEntries(Object.entries(services).map(([name, text]) => [name, service(text)])),
  },
  containers: running(services),
  updated: ['app', 'worker'],
  dataSettings: [],
  product: svcProduct,
  files: ['/opt/svc/compose.yaml', '/opt/svc/.env'],
  directory: '/opt/svc',
  ...changes,
});
const said = (key: string, word: 'save' | 'none'): DataSelectionFacts['dataSettings'][0] => ({
  key,
  word,
  where: `.svc-updater.yaml line 2: data of ${key}`,
});
const mount = (source: string, destination: string): Mount => ({
  type: 'volume',
  source,
  destination,
  writable: true,
});

/** The evaluation in one line, for example `app db; -cache; ~files:/data; memory mq; db? save`. */
function judged(given: DataSelectionFacts): string {
  const { covered, excluded, uncovered, inMemory, outside, undecided, mistakes } =
    evaluateDataSettings(given);
  return [
    covered.join(' '),
    ...excluded.map(({ service: name, path }) => `-${name}${path === null ? '' : `:${path}`}`),
    ...outside.map((host) => `-${host}`),
    ...uncovered.map((where) => `~${where}`),
    ...inMemory.map((name) => `memory ${name}`),
    ...undecided.map(({ key, proposal }) => `${key}? ${proposal}`),
    ...mistakes.map((mistake) => `! ${mistake}`),
  ]
    .filter(Boolean)
    .join('; ');
}

describe('covered services', () => {
  it.each<[string, Record<string, string>, string]>([
    ['updated services with a mount', { app: 'a:1 d:/data', worker: 'a:1' }, 'app'],
    ['not a mount that is read-only', { app: 'a:1 /srv/conf:/etc/a:ro' }, ''],
    [
      'dependencies first',
      { app: 'a:1 d:/data >db >cache', db: 'postgres:16 d:/p >cache', cache: 'redis:7 c:/data' },
      'cache db app',
    ],
    ['a service with a label', { app: 'a:1', files: 'x:1 d:/p [save]' }, 'files'],
    [
      'not a service with the label none',
      { app: 'a:1 d:/data [none] >db', db: 'postgres:16 d:/p [none]' },
      '-app; -db',
    ],
    [
      'not a queue and cache in memory',
      { app: 'a:1 >mq >cache', mq: 'nats:2', cache: 'memcached:1' },
      'memory mq; memory cache',
    ],
  ])('are determined from mounts, labels and dependencies: %s', (_, services, expected) =>
    expect(judged(facts(services))).toBe(expected),
  );

  it('are determined by the settings file first, then by the label, then by the product', () => {
    const product = createProduct({ name: 'svc', data: { a: 'none', b: 'none', c: 'none', gone: 'none' } });
    const services = { a: 'x:1 d:/d [none]', b: 'x:1 d:/d [save]', c: 'x:1 d:/d' };
    expect(judged(facts(services, { product, dataSettings: [said('a', 'save')] }))).toBe('a b; -c');
  });

  it('are determined by the mounts of their containers; a service without containers is not covered', () => {
    const services = { app: 'a:1 >db >other', db: 'postgres:16', other: 'mysql:8 d:/var/lib/mysql' };
    const containers = [
      container('app-1', { mounts: [mount('0f'.repeat(32), '/data')] }),
      container('db-1', { mounts: [mount('d', '/var/lib/postgresql/data')] }),
    ];
    expect(judged(facts(services, { containers }))).toBe('db app');
  });
});

describe('a service that must be declared', () => {
  it.each([
    'postgres:16 d:/p',
    'redis:7 d:/data',
    'qdrant/qdrant:v1 d:/p',
    'r.example/own/db:1 d:/var/lib/postgresql/data',
    'r.example/own/db:1 d:/data/db',
  ])('is recognized by its image or mount: %s', (text) =>
    expect(judged(facts({ db: text }))).toBe('db? save'),
  );

  it.each([
    ['postgres-exporter:1 d:/var/lib/postgresql', '~x:/var/lib/postgresql'],
    ['zabbix/zabbix-server-mysql:7', ''],
    ['postgres:16', ''],
    ['minio/minio:RELEASE.2025 d:/data', '~x:/data'],
  ])('is not %s', (text, expected) => expect(judged(facts({ x: text }))).toBe(expected));

  it('can be a database without a volume', () => {
    const services = { app: 'a:1 >db', db: 'own/postgres:16' };
    expect(judged(facts(services))).toBe('db? none');
    expect(refusal(facts(services))).toMatchObject({
      code: 'data-undeclared',
      message:
        'db (own/postgres:16) looks like a database but has no volume: its data is inside the container and cannot be saved in a restore point',
      advice: expect.stringContaining('In .svc-updater.yaml, set data: {db: none}'),
    });
    expect(judged(facts(services, { dataSettings: [said('db', 'none')] }))).toBe('-db');
  });

  describe('because its mount contains more than the data of the app', () => {
    const services = { app: 'a:1 /srv:/files d:/data' };

    it('is rejected with advice that lists both settings', () => {
      expect(judged(facts(services))).toBe('app; app:/files? none');
      expect(refusal(facts(services))).toMatchObject({
        code: 'data-undeclared',
        message:
          'app:/files is mounted from the host path "/srv", which contains more than the data of app: a rollback would replace everything in it. Under data, set "app:/files: none" or "app:/files: save"',
        advice: expect.stringContaining('set data: {app:/files: none} '),
      });
      expect(judged(facts(services, { dataSettings: [said('app:/files', 'save')] }))).toBe('app');
      expect(judged(facts(services, { dataSettings: [said('app:/files', 'none')] }))).toBe(
        'app; -app:/files',
      );
      // A setting for the whole service does not apply to this mount.
      expect(judged(facts(services, { dataSettings: [said('app', 'save')] }))).toBe('app; app:/files? none');
    });

    it.each(['/', '/opt'])('can only exclude the mount, not save it: %s', (path) =>
      expect(refusal(facts({ app: `a:1 ${path}:/files` }))).toMatchObject({
        message: expect.stringMatching(/Under data, set "app:\/files: none"$/),
      }),
    );

    it('is recognized by the host directory of its volume', () => {
      const given = facts(services);
      given.model.volumes = {
        d: { name: 'd', driver_opts: { type: 'none', o: 'bind', device: '/home/ana/' } },
      };
      expect(judged(given)).toBe('app; app:/files? none; app:/data? none');
    });

    it.each([
      ['excluded with its service', { app: 'a:1 /srv:/files [none]' }, '-app'],
      ['read-only', { app: 'a:1 /srv:/files:ro' }, ''],
      ['of a service that is not covered', { app: 'a:1', other: 'x:1 /srv:/files' }, '~other:/files'],
      ['of the app alone', { app: 'a:1 /srv/app:/files' }, 'app'],
    ] as const)('is not a service with a mount that is %s', (_, given, expected) =>
      expect(judged(facts(given))).toBe(expected),
    );
  });

  it('is rejected with the setting to add, and accepted after it is added', () => {
    const services = { db: 'postgres:16 d:/p', search: 'elasticsearch:8 s:/s', app: 'a:1 d:/data l:/l' };
    const before = [said('app:/l', 'none')];
    expect(refusal(facts(services, { dataSettings: before }))).toMatchObject({
      code: 'data-undeclared',
      outcome: 'refused',
      detail: [
        'db (postgres:16), which looks like a database, is neither saved nor excluded, and no updated service depends on it',
      ],
      message:
        'search (elasticsearch:8), which looks like a search index, is neither saved nor excluded, and no updated service depends on it',
      advice:
        'In .svc-updater.yaml, set data: {app:/l: none, db: save, search: save} ("save" includes the data in restore points, and "none" excludes it). Then run {command} again.',
    });
    const after = [...before, said('db', 'save'), said('search', 'none')];
    expect(requireDataCoverage(facts(services, { dataSettings: after }))).toEqual({
      covered: ['db', 'app'],
      excluded: [
        { service: 'search', path: null },
        { service: 'app', path: '/l' },
      ],
      uncovered: [],
      inMemory: [],
      outside: [],
    });
  });
});

describe('an invalid data setting', () => {
  const services = { app: 'a:1 d:/data', web: 'x:1', db: 'postgres:16 d:/p [pg]' };
  it.each<[DataSelectionFacts['dataSettings'][0], string]>([
    [said('web', 'save'), 'is set to "save", but web has no writable volume or bind mount to save'],
    [said('app:/other', 'none'), 'is set, but app has no mount at /other'],
    [
      said('app:/data', 'save'),
      'is set to "save", but "save" applies only to a whole service; a single mount can only be set to "none"',
    ],
    [said('gone:/data', 'none'), 'is set, but the project has no service gone'],
    [said('toString', 'save'), 'is set, but the project has no service toString'],
    [
      said('dbhost', 'none'),
      'is set, but dbhost is neither a service of the project nor a database host that an updated service uses',
    ],
  ])('is rejected: %j', (entry, sentence) => {
    const message = `.svc-updater.yaml line 2: data of ${entry.key} ${sentence}`;
    expect(refusal(facts({ ...services, db: 'x:1' }, { dataSettings: [entry] }))).toMatchObject({
      code: 'data-unsupported',
      message,
    });
  });

  it('is "save" for a service without a container', () => {
    const containers = [container('app-1')];
    expect(judged(facts(services, { containers, dataSettings: [said('web', 'save')] }))).toContain(
      'data of web is set to "save", but web has no container',
    );
  });
});

describe('the line of plan about restore points', () => {
  it.each<[Record<string, string>, string | null]>([
    [{ app: 'a:1 d:/data >db', db: 'postgres:16 d:/p' }, null],
    [
      { db: 'mysql:8 d:/p' },
      'to use restore points (--restore-point), set data: {db: save} in .svc-updater.yaml',
    ],
    [
      { app: 'a:1 >log', db: 'postgres:16 d:/p', log: 'mongo:7' },
      'to use restore points (--restore-point), set data: {db: save, log: none} in .svc-updater.yaml; restore points then do not contain the data of log',
    ],
  ])('proposes the missing settings for %j', (services, line) => {
    expect(formatDataSettingProposal(evaluateDataSettings(facts(services)))).toBe(line);
  });

  it.each([
    ['DB_HOST', 'data: {db.internal: none}'],
    // The log masks the value of such a variable, and advice that contains *** is unusable.
    ['AUTH_DB_HOST', 'data: {"<host in AUTH_DB_HOST>": none}'],
  ])('proposes a setting for the database host in the variable %s', (variable, line) => {
    const containers = [container('app-1', { env: new Map([[variable, 'db.internal']]) })];
    expect(evaluateDataSettings(facts({ app: 'a:1' }, { containers })).line).toBe(line);
    const after = facts({ app: 'a:1' }, { containers, dataSettings: [said('db.internal', 'none')] });
    expect(evaluateDataSettings(after)).toMatchObject({
      undecided: [],
      mistakes: [],
      outside: ['db.internal'],
    });
  });
});

function refusal(given: DataSelectionFacts): unknown {
  try {
    return requireDataCoverage(given);
  } catch (error) {
    if (error instanceof UpdateError) return error;
    throw error;
  }
}
