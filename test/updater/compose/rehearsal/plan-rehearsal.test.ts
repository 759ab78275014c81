import { describe, expect, it } from 'vitest';
import type { ComposeModel } from '../../../../src/engine/cli/compose.ts';
import type { Container, StorageMount } from '../../../../src/engine/objects/container.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import { choosePauseLimit } from '../../../../src/updater/compose/rehearsal/copy-data.ts';
import { CopyFinder, findAddedMounts } from '../../../../src/updater/compose/rehearsal/plan-rehearsal.ts';
import { rehearsedMountsOf } from '../../../../src/updater/compose/rehearsal/rehearsal-project.ts';
import { container } from '../../../build.ts';

const volume = (source: string, target: string, path: string): StorageMount => ({
  ...{ type: 'volume', source, destination: target, writable: true, path, subpath: '', driver: 'local' },
});
const bind = (path: string, target: string, writable = true): StorageMount => ({
  ...{ type: 'bind', source: path, destination: target, writable, path, subpath: '', driver: '' },
});
const own = (place: string, storage: StorageMount[], changes: Partial<Container> = {}): Container => {
  const base = container(place);
  const labels = { ...base.labels, [composeLabels.project]: 'svc', [composeLabels.oneOff]: 'False' };
  return { ...base, storage, labels, ...changes };
};

const model: ComposeModel = {
  name: 'svc',
  services: {
    app: {
      volumes: [
        { type: 'bind', source: '/opt/svc/data', target: '/data' },
        { type: 'bind', source: '/var/run/docker.sock', target: '/var/run/docker.sock' },
        { type: 'volume', target: '/cache' },
      ],
      secrets: [{ source: 'key' }],
    },
    db: {
      volumes: [
        { type: 'volume', source: 'db', target: '/var/lib/db/' },
        { type: 'volume', target: '/cache' },
      ],
    },
  },
  volumes: { db: { name: 'svc_db' } },
  secrets: { key: { file: '/opt/svc/key' } },
};
const containers = [
  own('app-1', [
    bind('/opt/svc/data', '/data'),
    bind('/var/run/docker.sock', '/var/run/docker.sock'),
    volume('a'.repeat(64), '/cache', '/volumes/a'),
    volume('c'.repeat(64), '/in-image', '/volumes/c'),
    bind('/opt/svc/key', '/run/secrets/key', false),
  ]),
  own('db-1', [
    volume('svc_db', '/var/lib/db', '/volumes/db'),
    volume('b'.repeat(64), '/cache', '/volumes/b'),
  ]),
];
const paths = ['/opt/svc/data', '/volumes/a', '/volumes/b', '/volumes/c', '/opt/svc/key', '/volumes/db'];
const copiesOf = (list: readonly string[]) => list.map((path) => ({ path, copy: `/copies${path}` }));

function finder() {
  const mountContext = { project: 'svc', options: new Map() };
  const survey = { mountContext, containers } as unknown as ConstructorParameters<typeof CopyFinder>[2];
  const services = ['app', 'db'];
  return new CopyFinder({ model, services, migrations: [] }, services, survey, copiesOf(paths));
}
const found = (finder: CopyFinder, service: string, of = model) =>
  Object.fromEntries(
    rehearsedMountsOf(of, service).map((mount) => [mount.target, finder.find(service, mount)]),
  );

describe('CopyFinder', () => {
  it('finds the copy of each mount; volumes without a name belong to one service', () => {
    const copies = finder();
    expect(found(copies, 'app')).toEqual({
      '/data': '/copies/opt/svc/data',
      '/var/run/docker.sock': null,
      '/cache': '/copies/volumes/a',
      '/run/secrets/key': '/copies/opt/svc/key',
    });
    expect(found(copies, 'db')).toEqual({
      '/var/lib/db': '/copies/volumes/db',
      '/cache': '/copies/volumes/b',
    });
    expect([...copies.empty]).toEqual(['app:/var/run/docker.sock']);
    expect([...copies.imageVolumeCopies]).toEqual([['app', new Map([['/in-image', '/copies/volumes/c']])]]);
  });

  it('finds copies by their source if the new version mounts them elsewhere', () => {
    const next: ComposeModel = {
      ...model,
      services: {
        app: {
          volumes: [
            { type: 'volume', source: 'db', target: '/old-db' },
            { type: 'bind', source: '/opt/svc/data', target: '/files' },
            { type: 'volume', source: 'more', target: '/more' },
          ],
        },
      },
    };
    const copies = finder();
    expect(found(copies, 'app', next)).toEqual({
      ...{ '/old-db': '/copies/volumes/db', '/files': '/copies/opt/svc/data', '/more': null },
    });
    expect([...copies.empty]).toEqual(['app:/more']);
  });
});

it('lists the copies inside another copy, with their paths in it', () => {
  const mountContext = { project: 'svc', options: new Map() };
  const survey = { mountContext, containers: [] } as unknown as ConstructorParameters<typeof CopyFinder>[2];
  const copies = copiesOf(['/opt/data', '/opt/data/db/15', '/opt/database', '/opt']);
  const copyFinder = new CopyFinder({ model, services: [], migrations: [] }, [], survey, copies);
  expect(copyFinder.listNestedCopies('/copies/opt/data')).toEqual([
    { path: 'db/15', copy: '/copies/opt/data/db/15' },
  ]);
  expect(copyFinder.listNestedCopies('/copies/opt/database')).toEqual([]);
});

describe('findAddedMounts', () => {
  const running = { model, services: ['app', 'db'], migrations: [] };
  const withMount = (source: string, target = '/x') => ({
    ...running,
    model: { ...model, services: { app: { volumes: [{ type: 'bind', source, target }] } } },
    services: ['app'],
  });

  it('lists bind mounts that are new in the new version', () => {
    const next = withMount('/opt/svc/conf');
    expect(findAddedMounts({ running, next }, containers)).toEqual([
      { service: 'app', where: 'app:/x', volume: '', path: '/opt/svc/conf', subpath: '', excluded: [] },
    ]);
    expect(findAddedMounts({ running, next: withMount('/opt/svc/data') }, containers)).toEqual([]);
    // Without a container, nothing is copied for the service.
    expect(findAddedMounts({ running, next: withMount('/opt/svc/data') }, [])).toHaveLength(1);
  });

  it.each(['/run/docker.sock', '/dev/sda', '/opt/svc/own.sock'])('rejects %s', (path) => {
    expect(() => findAddedMounts({ running, next: withMount(path) }, containers)).toThrow(
      `the new version mounts "${path}" at app:/x, which a rehearsal cannot provide`,
    );
  });
});

describe('choosePauseLimit', () => {
  const check = (shortestDecisionMs: number): Partial<Container> => ({
    health: 'healthy',
    healthCheck: { longestDecisionMs: 0, shortestDecisionMs, failureText: null, cannotRun: false },
  });
  const limit = (bytes: number, writers: Container[], others: Container[] = [], limitMs = 30_000) =>
    choosePauseLimit(
      {
        estimate: { writers, downtime: { range: [99, 99] }, point: { mounts: [{ where: 'db:/p', bytes }] } },
        containers: others,
        mountContext: { project: 'svc' },
      } as unknown as Parameters<typeof choosePauseLimit>[0],
      limitMs,
    );

  it('is the limit of the command, or less if a health check of the project could fail sooner', () => {
    expect(limit(0, [own('db-1', [])])).toBe(30_000);
    expect(limit(0, [own('db-1', [], check(8_000))])).toBe(8_000);
    expect(limit(0, [own('db-1', [])], [own('app-1', [], check(4_000))])).toBe(4_000);
    expect(limit(0, [own('db-1', [])], [container('other-1', check(4_000))])).toBe(30_000);
    expect(limit(0, [own('db-1', [], check(0))])).toBe(1_000);
  });

  it('rejects data for which half of the limit is not enough, and names the cause', () => {
    expect(limit(29e9, [own('db-1', [])])).toBe(30_000);
    expect(limit(99e9, [])).toBe(30_000);
    expect(() => limit(31e9, [own('db-1', [])])).toThrow(
      expect.objectContaining({
        code: 'pause-too-long',
        message:
          'svc-db-1 would be suspended for about 15.5 s, but the copy may take at most half of the limit of 30.0 s',
        detail: ['db:/p: 31.0 GB'],
      }),
    );
    expect(() => limit(9e9, [own('db-1', [])], [own('app-1', [], check(4_000))])).toThrow(
      'svc-db-1 would be suspended for about 4.5 s, but the copy may take at most half of the limit of 4.0 s, because svc-app-1 could become unhealthy after 4.0 s',
    );
  });

  it('rejects a writer that is paused or restarting', () => {
    expect(() => limit(0, [own('db-1', [], { status: 'paused' })])).toThrow(
      'svc-db-1 writes to the data and is paused',
    );
  });
});
