import { describe, expect, it } from 'vitest';
import { type Container, type StorageMount, toContainer } from '../../../../src/engine/objects/container.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import type { DataCoverage } from '../../../../src/updater/data/data-context.ts';
import {
  chooseMountsToSave,
  evaluateRunningWriters,
  isSharedHostDirectory,
  type MountSelectionContext,
  type UncheckedMount,
} from '../../../../src/updater/data/selection/choose-mounts.ts';
import { container } from '../../../build.ts';

const bind = (path: string, destination: string, changes: Partial<StorageMount> = {}): StorageMount => ({
  ...{ type: 'bind', source: path, path, subpath: '', destination, driver: '', writable: true },
  ...changes,
});
const volume = (name: string, destination: string, changes: Partial<StorageMount> = {}): StorageMount => ({
  ...bind(`/var/lib/docker/volumes/${name}/_data`, destination),
  ...{ type: 'volume', source: name, driver: 'local' },
  ...changes,
});
const holder = (
  service: string,
  storage: StorageMount[],
  labels: Record<string, string> = {},
): Container => ({
  ...container(`${service}-1`),
  storage,
  labels: { [composeLabels.project]: 'svc', [composeLabels.service]: service, ...labels },
});
const around = (changes: Partial<MountSelectionContext> = {}): MountSelectionContext => ({
  project: 'svc',
  directory: '/opt/svc',
  files: ['/opt/svc/compose.yaml', '/etc/svc/env'],
  restorePointsDirectory: '/opt/svc/.svc-updater/restore',
  dataRoot: '/var/lib/docker',
  options: new Map(),
  ...changes,
});
const covering = (
  covered: string[],
  ...excluded: [service: string, path: string | null][]
): DataCoverage => ({
  ...{ covered, uncovered: [], inMemory: [], outside: [] },
  excluded: excluded.map(([service, path]) => ({ service, path })),
});
const choose = (mounts: StorageMount[], changes: Partial<MountSelectionContext> = {}) =>
  chooseMountsToSave([holder('app', mounts)], covering(['app']), around(changes));

describe('saved mounts', () => {
  it.each<[string, StorageMount[], string[]]>([
    [
      'a volume and a directory',
      [volume('d', '/data'), bind('/opt/svc/files', '/files')],
      ['/data', '/files'],
    ],
    ['a directory in shared memory', [bind('/dev/shm/app', '/data')], ['/data']],
    ['nothing that is read-only', [volume('d', '/data', { writable: false })], []],
    ['a volume with two paths once', [volume('d', '/data'), volume('d', '/same')], ['/data']],
    ['a directory inside another one with that', [bind('/srv/a/b', '/a'), bind('/srv/a', '/b')], ['/b']],
    ['a directory beside one that begins alike', [bind('/srv/a', '/a'), bind('/srv/ab', '/b')], ['/a', '/b']],
  ])('include %s', (_, mounts, expected) => {
    const found = choose(mounts);
    expect(found.mounts.map(({ where }) => where)).toEqual(expected.map((path) => `app:${path}`));
    expect(found).toMatchObject({ refusals: [], notSaved: [], warnings: [] });
  });

  it('are the mounts of covered services, in the order of the services', () => {
    const holders = [
      holder('app', [volume('a', '/a'), volume('shared', '/s')]),
      holder('db', [volume('shared', '/s'), volume('d', '/d')]),
      holder('other', [volume('o', '/o')]),
      holder('app', [volume('run', '/run')], { [composeLabels.oneOff]: 'True' }),
      holder('app', [volume('b', '/b')], { [composeLabels.project]: 'another' }),
    ];
    const { mounts } = chooseMountsToSave(holders, covering(['db', 'app']), around());
    expect(mounts.map(({ where }) => where)).toEqual(['db:/d', 'db:/s', 'app:/a']);
  });

  it('contain the host directory of a volume with o=bind', () => {
    const options = new Map([['v', { type: 'none', o: 'rw,bind', device: '/srv/disk/' }]]);
    expect(choose([volume('v', '/v')], { options }).mounts).toEqual([
      { service: 'app', where: 'app:/v', volume: '', path: '/srv/disk', subpath: '', excluded: [] },
    ]);
    const inside = choose([volume('v', '/v', { subpath: 'a' })], { options });
    expect(inside.mounts).toMatchObject([{ volume: 'v', path: '/srv/disk/a', subpath: 'a' }]);
  });

  it('contain only the mounted subpath of a volume, unless the whole volume is also mounted', () => {
    const mounts = [volume('v', '/a', { subpath: 'a' }), volume('v', '/b', { subpath: 'b/c' })];
    expect(choose(mounts).mounts).toMatchObject([
      { volume: 'v', subpath: 'a', path: '/var/lib/docker/volumes/v/_data/a' },
      { volume: 'v', subpath: 'b/c', path: '/var/lib/docker/volumes/v/_data/b/c' },
    ]);
    expect(choose([...mounts, volume('v', '/all')]).mounts).toMatchObject([{ where: 'app:/all' }]);
  });
});

describe('an excluded mount', () => {
  const mounts = [bind('/srv/a', '/a'), bind('/srv/a/library', '/library')];

  it('is omitted from the saved mount that contains it', () => {
    const found = chooseMountsToSave(
      [holder('app', mounts)],
      covering(['app'], ['app', '/library']),
      around(),
    );
    expect(found).toMatchObject({ mounts: [{ where: 'app:/a', excluded: ['library'] }], refusals: [] });
  });

  it('can belong to an excluded service if that service can write to the mount', () => {
    const other = (changes: Partial<StorageMount>) => holder('other', [bind('/srv/a/x', '/x', changes)]);
    const found = (changes: Partial<StorageMount>) =>
      chooseMountsToSave(
        [holder('app', mounts), other(changes)],
        covering(['app'], ['other', null]),
        around(),
      );
    expect(found({}).mounts).toMatchObject([{ excluded: ['x'] }]);
    expect(found({ writable: false }).mounts).toMatchObject([{ excluded: [] }]);
  });

  it('does not exclude a saved mount inside it', () => {
    const holders = [holder('app', [...mounts, bind('/srv/a/library/db', '/db')])];
    const found = chooseMountsToSave(holders, covering(['app'], ['app', '/library']), around());
    expect(found.mounts.map(({ where }) => where)).toEqual(['app:/a', 'app:/db']);
  });

  it('is rejected if another service saves the same source', () => {
    const holders = [holder('app', mounts), holder('worker', [bind('/srv/a/library', '/l')])];
    const found = chooseMountsToSave(holders, covering(['app', 'worker'], ['app', '/library']), around());
    expect(found.refusals).toEqual([
      'app:/library is excluded, but worker:/l, which is saved, has the same source ("/srv/a/library"): in .svc-updater.yaml, set both mounts to "none", or remove the exclusion of app:/library',
    ]);
  });

  it('is added automatically for a compose or env file inside a saved mount', () => {
    expect(choose([bind('/etc/svc', '/conf')]).mounts).toMatchObject([{ excluded: ['env'] }]);
  });
});

it.each<[string, StorageMount, string]>([
  ['memory', bind('', '/state', { type: 'tmpfs' }), 'in memory'],
  ['the engine socket', bind('/var/run/docker.sock', '/x'), 'a system path'],
  ['an env file', bind('/etc/svc/env', '/x'), 'compose and env files are backed up separately'],
])('does not save %s', (_, mount, reason) => {
  const found = choose([mount]);
  expect(found).toMatchObject({
    mounts: [],
    refusals: [],
    notSaved: [`app:${mount.destination} (${reason})`],
  });
});

it.each<[path: string, 'warnings' | 'refusals']>([
  ['/var/lib/docker', 'warnings'],
  // The settings file declares these paths as saved.
  ['/var/lib', 'refusals'],
  ['/', 'refusals'],
])('does not save %s, and lists it in %s', (path, list) => {
  expect(choose([bind(path, '/host')])).toMatchObject({
    ...{ mounts: [], refusals: [], warnings: [] },
    [list]: [`app:/host is not saved: "${path}" contains the data of all containers`],
  });
});

it.each<[path: string, expected: boolean]>([
  ...'/ /srv /root /home /var /var/lib /home/ana /var/home/ana /Users/ana /opt/sites'
    .split(' ')
    .map((path): [string, boolean] => [path, true]),
  ...' /srv/a /home/ana/app /var/lib/app /var/log /opt/sites/svc /opt/sites/svc/data /opt/site'
    .split(' ')
    .map((path): [string, boolean] => [path, false]),
])('detects if %j contains more than the data of one app: %s', (path, expected) =>
  expect(isSharedHostDirectory(path, '/opt/sites/svc')).toBe(expected),
);

it.each<[string, StorageMount, Partial<MountSelectionContext>, RegExp]>([
  [
    'the compose directory',
    bind('/opt/svc', '/x'),
    {},
    /^the source of app:\/x \("\/opt\/svc"\) overlaps with the updater directory \/opt\/svc\/\.svc-updater: /,
  ],
  [
    'restore points elsewhere',
    bind('/backup', '/x'),
    { restorePointsDirectory: '/backup/svc' },
    / overlaps with the updater directory \/backup\/svc: /,
  ],
  ['another driver', volume('v', '/v', { driver: 'rclone' }), {}, /^app:\/v uses the volume driver rclone, /],
  [
    'NFS',
    volume('v', '/v'),
    { options: new Map([['v', { type: 'nfs', o: 'addr=a' }]]) },
    /network file system \(nfs\)/,
  ],
])('rejects a mount, and advises to exclude it: %s', (_, mount, changes, expected) => {
  const { mounts, refusals } = choose([mount, mount], changes);
  expect(mounts).toEqual([]);
  expect(refusals).toEqual([expect.stringMatching(expected)]);
  expect(refusals[0]).toContain(
    `exclude it by setting "app:${mount.destination}: none" under data in .svc-updater.yaml`,
  );
});

describe('a running container with a writable mount', () => {
  const unseen = (changes: Partial<UncheckedMount>): UncheckedMount => ({
    ...{ service: 'app', where: 'app:/a', volume: '', path: '/srv/a', subpath: '', excluded: ['library'] },
    ...changes,
  });
  const saved = [
    unseen({ where: 'app:/v', volume: 'v', path: '/var/lib/docker/volumes/v/_data/one', excluded: [] }),
    unseen({}),
  ];
  const evaluate = (other: Container, isStopped = false, mounts = saved) =>
    evaluateRunningWriters(mounts, [other], around(), () => isStopped);
  const writers = (mount: StorageMount, changes: Partial<Container> = {}, isStopped = false) =>
    evaluate({ ...holder('other', [mount]), labels: {}, ...changes }, isStopped);

  it.each<[string, StorageMount, string | null]>([
    ['the same volume', volume('v', '/x'), 'app:/v'],
    ['the same folder of it', volume('v', '/x', { subpath: 'one/two' }), 'app:/v'],
    ['the same directory', bind('/srv/a', '/x'), 'app:/a'],
    ['one inside it', bind('/srv/a/b', '/x'), 'app:/a'],
    ['an excluded one', bind('/srv/a/library/b', '/x'), null],
    ['one above it', bind('/srv', '/x'), 'app:/a'],
    ['another one', bind('/srv/ab', '/x'), null],
  ])('is rejected only if it can write to saved data: %s', (_, mount, where) => {
    const { refusals, warnings } = writers(mount);
    expect(warnings).toEqual([]);
    expect(refusals).toEqual(
      where === null
        ? []
        : [expect.stringMatching(`^the running container svc-other-1 can write to ${where}, because `)],
    );
  });

  it.each(['/', '/opt/svc', '/var/lib/docker'])('causes only a warning if it mounts %s', (path) => {
    const saves = [unseen({ path: '/opt/svc/data' }), ...saved];
    const { refusals, warnings } = evaluate(holder('other', [bind(path, '/x')]), false, saves);
    expect([refusals, warnings.length]).toEqual([[], 1]);
  });

  it('is ignored if it is stopped', () => {
    expect(writers(volume('v', '/x'), { status: 'exited' }).refusals).toEqual([]);
    expect(writers(volume('v', '/x'), {}, true).refusals).toEqual([]);
  });

  it('can also be set to "save" if it belongs to the project', () => {
    const [own] = evaluate(holder('other', [volume('v', '/x')])).refusals;
    expect(own).toContain('or set "other: save" under data in .svc-updater.yaml');
    expect(writers(volume('v', '/x')).refusals[0]).not.toContain('save under data');
  });
});

it('reads mounts, addresses and links of a container from the response of the engine', () => {
  const { storage, addresses, links, extraHosts } = toContainer({
    Config: { Hostname: 'f00d' },
    HostConfig: {
      Tmpfs: { '/state': '' },
      Mounts: [{ Type: 'volume', Target: '/v', VolumeOptions: { Subpath: 'a' } }],
      Links: ['/db:/app/x'],
      ExtraHosts: ['a:1.2.3.4'],
    },
    NetworkSettings: {
      Networks: {
        n: { Aliases: ['app'], DNSNames: null, Links: ['db:y'], IPAddress: '172.20.0.2' },
        none: null,
      },
    },
    Mounts: [
      {
        Type: 'volume',
        Name: 'v',
        Source: '/var/lib/docker/volumes/v/_data',
        Destination: '/v',
        Driver: 'local',
        RW: true,
      },
      { Type: 'bind', Source: '/srv/a', Destination: '/a', RW: true },
    ],
  });
  expect(storage).toEqual([
    volume('v', '/v', { subpath: 'a' }),
    bind('/srv/a', '/a'),
    bind('', '/state', { type: 'tmpfs' }),
  ]);
  expect({ addresses, links, extraHosts }).toEqual({
    addresses: ['f00d', 'app', '172.20.0.2'],
    links: ['/db:/app/x', 'db:y'],
    extraHosts: ['a:1.2.3.4'],
  });
});
