import { expect, it } from 'vitest';
import {
  describeChangedMounts,
  type HostMount,
} from '../../../../src/updater/compose/checks/changed-mounts.ts';

// Lines of mountinfo, as recorded in a running container and in a helper container with the same mounts.

type Line = [path: string, root: string, device: string, type: string, source: string];

const disk = ['254:0', 'ext4', '/dev/vda'] as const;
const fuse = (device: string, source = 'nas:') => [device, 'fuse.rclone', source] as const;
const share = ['0:39', 'nfs4', 'nas:/photos'] as const;
const at = (path: string, root: string, [device, ...system]: readonly [string, string, string]): Line => [
  ...([path, root, device] as const),
  ...system,
];
const tableOf = (lines: readonly Line[]): string =>
  [at('/', '/', ['0:107', 'overlay', 'overlay']), ...lines]
    .map(
      ([path, root, device, type, source], id) =>
        `${id + 20} 19 ${device} ${root} ${path} rw,relatime master:1 - ${type} ${source} rw\n`,
    )
    .join('');

const mountAt = (destination: string, besides: readonly string[]): HostMount => ({
  ...{ where: `app:${destination}`, volume: '', pid: 7, destination, besides, type: 'bind', source: '/x' },
  ...{ path: '/x', subpath: '', driver: '', writable: true, dataRoot: '/x/docker' },
});

/** @param paths of the container's mounts; mount n is at `/data/<n>` in the helper container */
const changes = (
  paths: readonly string[],
  running: readonly Line[],
  own: readonly Line[],
  isDirectory = true,
) =>
  describeChangedMounts(
    paths.map((path) => mountAt(path, paths)),
    {
      tables: { self: tableOf(own), 7: running.length === 0 ? '' : tableOf(running) },
      directories: paths.map(() => isDirectory),
    },
  );

const data = at('/data', '/srv/data', disk);
const same = at('/data/0', '/srv/data', disk);
const withShare = [data, at('/data/nas', '/', share)];

it.each<[string, readonly Line[], readonly Line[]]>([
  ['the same directory', [data], [same]],
  ['a container that has ended', [], [same]],
  ['a mount below a link of the image', [at('/run/data', '/srv/data', disk)], [same]],
  ['the same share below', withShare, [same, at('/data/0/nas', '/', share)]],
  ['a share that was mounted below since', [data], [same, at('/data/0/nas', '/', share)]],
  ['memory below that is gone', [data, at('/data/user', '/', ['0:50', 'tmpfs', 'tmpfs'])], [same]],
  ['a snap that was replaced', [data, at('/data/snap', '/', ['7:3', 'squashfs', '/dev/loop3'])], [same]],
  ['its own root seen from the host', [data, at('/data/merged/data', '/srv/data', disk)], [same]],
  [
    'mounts of other containers in the data of the engine',
    [
      data,
      at('/data/docker/volumes/a/_data', '/', share),
      at('/data/docker/zfs/b', '/', ['0:9', 'zfs', 'p/b']),
    ],
    [same],
  ],
  ['FUSE that was mounted again', [at('/data', '/', fuse('0:52'))], [at('/data/0', '/', fuse('0:61'))]],
  [
    'FUSE below that was mounted again',
    [data, at('/data/nas', '/', fuse('0:52'))],
    [same, at('/data/0/nas', '/', fuse('0:61'))],
  ],
  ['a mount that is hidden by another', [at('/data', '/', share), data], [same]],
])('accepts %s', (_, running, own) => {
  expect(changes(['/data'], running, own)).toEqual([]);
});

it.each<[string, readonly Line[], readonly Line[], string]>([
  [
    'a share that was unmounted',
    [at('/data', '/', share)],
    [at('/data/0', '/mnt/my\\040nas', disk)],
    'the source of app:/data has changed on the host: the running container uses "/" of nas:/photos (nfs4, 0:39), but a new container would get "/mnt/my nas" of /dev/vda (ext4, 254:0)',
  ],
  [
    'a share that was mounted since',
    [data],
    [at('/data/0', '/', share)],
    'but a new container would get "/" of nas:/photos',
  ],
  ['a share below that was unmounted', withShare, [same], 'app:/data/nas has changed on the host: '],
  ['another share below', withShare, [same, at('/data/0/nas', '/', ['0:41', 'nfs4', 'nas:/photos'])], '0:41'],
  [
    'another share of FUSE',
    [at('/data', '/', fuse('0:52'))],
    [at('/data/0', '/', fuse('0:61', 'b:'))],
    'of b:',
  ],
  [
    'another directory of FUSE',
    [at('/data', '/a', fuse('0:52'))],
    [at('/data/0', '/b', fuse('0:61'))],
    '"/b" of nas:',
  ],
  ['a link that leads elsewhere', [data], [at('/data/0', '/srv/new', disk)], '"/srv/new" of /dev/vda'],
  [
    'a directory that was replaced',
    [at('/data', '/srv/data//deleted', disk)],
    [same],
    '"/srv/data//deleted"',
  ],
])('reports %s', (_, running, own, sentence) => {
  expect(changes(['/data'], running, own)).toEqual([expect.stringContaining(sentence)]);
});

it('accepts a file that an editor replaced, but reports a replaced directory', () => {
  const edited = at('/data', '/srv/data//deleted', disk);
  expect(changes(['/data'], [edited], [same], false)).toEqual([]);
  expect(changes(['/data'], [edited], [same], true)).toHaveLength(1);
});

it('compares a mount inside another mount separately', () => {
  const cache = at('/data/cache', '/volumes/cache', disk);
  const own = [same, at('/data/1', '/volumes/cache', disk)];
  expect(changes(['/data', '/data/cache'], [data, cache], own)).toEqual([]);
  const other = [same, at('/data/1', '/volumes/other', disk)];
  expect(changes(['/data', '/data/cache'], [data, cache], other)).toEqual([
    expect.stringContaining('app:/data/cache has changed'),
  ]);
});
