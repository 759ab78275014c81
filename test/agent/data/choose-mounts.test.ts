import { describe, expect, it } from 'vitest';
import {
  chooseMounts,
  type FileMount,
  type Holder,
  readHolder,
  writersOf,
} from '../../../src/agent/data/choose-mounts.ts';

type Mounted = Holder['mounts'][number];

const bind = (path: string, destination: string, changes: Partial<Mounted> = {}): Mounted => ({
  type: 'bind',
  volume: '',
  path,
  destination,
  driver: '',
  writable: true,
  ...changes,
});
const volume = (name: string, destination: string, changes: Partial<Mounted> = {}): Mounted =>
  bind(`/var/lib/docker/volumes/${name}/_data`, destination, {
    type: 'volume',
    volume: name,
    driver: 'local',
    ...changes,
  });
const holder = (changes: Partial<Holder> = {}): Holder => ({
  name: 'svc-app-1',
  service: 'app',
  project: 'svc',
  isOneOff: false,
  isUp: true,
  imageId: 'sha256:app',
  mounts: [],
  tmpfs: [],
  directory: '/opt/svc',
  files: ['/opt/svc/compose.yaml', '/etc/svc/env'],
  ...changes,
});
const choose = (holders: Holder[], options: [string, Record<string, unknown>][] = []) =>
  chooseMounts(holders, { point: '/opt/svc/.svc-updater/restore/1', options: new Map(options) });

describe('what is kept of mounts', () => {
  it.each<[string, Mounted[], string[]]>([
    [
      'a volume and a directory',
      [volume('svc_data', '/data'), bind('/opt/svc/files', '/files')],
      ['/data', '/files'],
    ],
    ['a file', [bind('/srv/app.db', '/app.db')], ['/app.db']],
    ['nothing that is read only', [volume('svc_data', '/data', { writable: false })], []],
    ['what has two names once', [volume('svc_data', '/data'), volume('svc_data', '/same')], ['/data']],
    ['a directory in another one with that', [bind('/srv/a/b', '/b'), bind('/srv/a', '/a')], ['/a']],
    ['a directory beside one that begins alike', [bind('/srv/a', '/a'), bind('/srv/ab', '/b')], ['/a', '/b']],
    [
      'a directory in a volume with that',
      [bind('/var/lib/docker/volumes/v/_data/x', '/x'), volume('v', '/v')],
      ['/v'],
    ],
    [
      'nothing of the system',
      [
        bind('/var/run/docker.sock', '/var/run/docker.sock'),
        bind('/run/user/1000/bus', '/bus'),
        bind('/srv/agent.sock', '/agent'),
        bind('/etc/localtime', '/etc/localtime'),
        bind('/etc/timezone', '/etc/timezone'),
        bind('/dev/shm', '/dev/shm'),
        bind('/proc', '/host/proc'),
        bind('/sys', '/sys'),
        bind('/usr/share/zoneinfo', '/usr/share/zoneinfo'),
      ],
      [],
    ],
    [
      'what only begins like the system',
      [bind('/runner/data', '/a'), bind('/etc/svc-data', '/b')],
      ['/a', '/b'],
    ],
    ['a directory of Docker Desktop', [bind('/run/desktop/mnt/host/c/svc/data', '/data')], ['/data']],
    ['no memory', [bind('', '/state', { type: 'tmpfs' })], []],
    [
      'a volume of an engine whose data lie in memory',
      [{ ...volume('v', '/v'), path: '/dev/shm/docker/v' }],
      ['/v'],
    ],
  ])('%s', (_, mounts, expected) => {
    const found = choose([holder({ mounts })]);
    expect(found.mounts.map(({ where }) => where)).toEqual(expected.map((path) => `app:${path}`));
    expect(found.refusals).toEqual([]);
  });

  it.each<[string, Partial<Holder>, [string, Record<string, unknown>][], RegExp]>([
    [
      'the compose directory',
      { mounts: [bind('/opt/svc', '/x')] },
      [],
      /^app:\/x is \/opt\/svc with \/opt\/svc, /,
    ],
    ['what is above it', { mounts: [bind('/', '/host')] }, [], /^app:\/host is \/ with /],
    ['an env file', { mounts: [bind('/etc/svc/env', '/.env')] }, [], /with \/etc\/svc\/env, /],
    ['a directory with a compose file', { mounts: [bind('/etc/svc', '/x')] }, [], /with \/etc\/svc\/env, /],
    [
      'the restore points',
      { directory: '', files: [], mounts: [bind('/opt/svc/.svc-updater', '/x')] },
      [],
      /restore\/1, /,
    ],
    [
      'another driver',
      { mounts: [volume('v', '/v', { driver: 'rclone' })] },
      [],
      /^app:\/v is a volume of the driver rclone, /,
    ],
    [
      'a volume of a swarm',
      { mounts: [volume('v', '/v', { type: 'cluster', driver: '' })] },
      [],
      /driver cluster/,
    ],
    [
      'options',
      { mounts: [volume('v', '/v')] },
      [['v', { type: 'nfs', o: 'addr=a' }]],
      /with options \(o, type\), /,
    ],
    ['memory', { tmpfs: ['/state'] }, [], /^app:\/state is in memory \(tmpfs\)/],
  ])('is refused for %s', (_, changes, options, expected) => {
    const { mounts, refusals } = choose([holder(changes)], options);
    expect(mounts).toEqual([]);
    expect(refusals).toEqual([expect.stringMatching(expected)]);
  });

  it.each(['/tmp', '/run', '/var/run/app', '/dev/shm', '/app/tmp', '/home/node/.cache', '/var/cache/nginx'])(
    'goes without memory at %s',
    (path) => expect(choose([holder({ tmpfs: [path] })]).refusals).toEqual([]),
  );

  it('says once what two containers of a service have', () => {
    const mounts = [volume('v', '/v', { driver: 'rclone' }), volume('w', '/w')];
    const found = choose([holder({ mounts }), holder({ mounts })]);
    expect([found.refusals.length, found.mounts.length]).toEqual([1, 1]);
  });
});

describe('who has them open', () => {
  const kept: FileMount[] = [
    { volume: 'v', path: '/var/lib/docker/volumes/v/_data', isFile: false, root: '/v', where: 'app:/v' },
    { volume: '', path: '/srv/a', isFile: false, root: '/srv/a', where: 'app:/a' },
  ];
  const other = (changes: Partial<Holder>) => holder({ name: 'other', project: '', service: '', ...changes });

  it.each<[string, Partial<Holder>, string | null]>([
    ['the same volume', { mounts: [volume('v', '/x')] }, 'app:/v'],
    ['the same directory', { mounts: [bind('/srv/a', '/x')] }, 'app:/a'],
    ['one in it', { mounts: [bind('/srv/a/b', '/x')] }, 'app:/a'],
    ['one above it', { mounts: [bind('/srv', '/x')] }, 'app:/a'],
    ['all volumes', { mounts: [bind('/var/lib/docker/volumes', '/x')] }, 'app:/v'],
    ['only to read', { mounts: [bind('/srv', '/x', { writable: false })] }, null],
    ['another one', { mounts: [bind('/srv/ab', '/x'), volume('w', '/w')] }, null],
    ['nobody, as it does not run', { isUp: false, mounts: [volume('v', '/x')] }, null],
    ['memory', { mounts: [bind('', '/x', { type: 'tmpfs' })] }, null],
  ])('%s', (_, changes, where) => {
    expect(writersOf(kept, [other(changes)], () => false)).toEqual(
      where === null ? [] : [`container other has ${where} open for writing`],
    );
  });

  it('but those who may', () => {
    expect(writersOf(kept, [other({ mounts: [volume('v', '/x')] })], () => true)).toEqual([]);
  });
});

it('is read from what the engine says', () => {
  const raw = {
    Name: '/svc-app-1',
    Image: 'sha256:app',
    State: { Status: 'exited' },
    Config: {
      Labels: {
        'com.docker.compose.project': 'svc',
        'com.docker.compose.service': 'app',
        'com.docker.compose.oneoff': 'False',
        'com.docker.compose.project.working_dir': '/opt/svc',
        'com.docker.compose.project.config_files': '/opt/svc/compose.yaml',
        'com.docker.compose.project.environment_file': '/etc/svc/env',
      },
    },
    HostConfig: { Tmpfs: { '/state': '', '/only-read': 'ro,size=1m' } },
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
  };
  const mounts = [volume('v', '/v'), bind('/srv/a', '/a')];
  expect(readHolder(raw)).toEqual(holder({ isUp: false, mounts, tmpfs: ['/state'] }));
});
