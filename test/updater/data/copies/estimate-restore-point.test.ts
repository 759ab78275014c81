import { describe, expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import {
  bytesToReadOf,
  estimateDowntime,
  listUnsavableContentReasons,
  longestStopSecondsOf,
  removeAliasedMounts,
  requireSpaceToSave,
} from '../../../../src/updater/data/copies/estimate-restore-point.ts';
import type { MountInspection } from '../../../../src/updater/data/helper-program/helper-result.ts';
import type { SavedMount } from '../../../../src/updater/data/restore-point.ts';
import { formatSize } from '../../../../src/updater/run/log/format-values.ts';
import { container } from '../../../build.ts';

const look = (changes: Partial<MountInspection>): MountInspection => ({
  ...{ type: 'directory', root: '/srv/a', device: '8:1', fileSystem: 0xef53, bytes: 0, length: 0, files: 0 },
  ...{ size: 100, free: 50, freeFiles: 9, inside: [], strange: [], tooLong: [] },
  ...changes,
});

it.each<[string, Partial<MountInspection>, string | null]>([
  ['on a local disk', {}, null],
  ['on FUSE, which mergerfs uses, too', { fileSystem: 0x65735546 }, null],
  ['on NFS', { fileSystem: 0x6969 }, 'app:/a is on a network file system ("/srv/a")'],
  ['on SMB', { fileSystem: 0xfe534d42 }, 'app:/a is on a network file system'],
  [
    'with another file system',
    { inside: ['b\n'] },
    'app:/a contains another file system or subvolume at "b\\n"',
  ],
  [
    'with owners that are not mapped',
    { strange: ['b'] },
    'app:/a contains "b", which belongs to a user or group',
  ],
  ['with long paths', { tooLong: ['b'] }, 'app:/a contains a path below "b" that is too long to copy'],
])('accepts or rejects a mount %s', (_, changes, sentence) => {
  const refusals = listUnsavableContentReasons({ where: 'app:/a', path: '/srv/a' }, look(changes));
  expect(refusals).toEqual(sentence === null ? [] : [expect.stringContaining(sentence)]);
});

it('saves a directory only once if several mounts contain it', () => {
  const mount = (where: string, root: string, device = '8:1'): SavedMount => ({
    ...{ service: 'app', where, volume: '', path: `/${where}`, subpath: '', isFile: false, root, device },
    ...{ excluded: [], bytes: 0, files: 0 },
  });
  const mounts = [
    mount('a', '/x/y'),
    mount('b', '/x'),
    mount('c', '/x'),
    mount('d', '/x', '8:2'),
    mount('e', '/'),
  ];
  const of = (...all: SavedMount[]) => removeAliasedMounts(all).map(({ where }) => where);
  expect(of(...mounts.slice(0, 4))).toEqual(['b', 'd']);
  expect(of(...mounts)).toEqual(['d', 'e']);
});

it('counts holes as bytes to read, unless an older restore point has not recorded the length', () => {
  const mount: SavedMount = {
    ...{ service: 'app', where: 'app:/a', volume: '', path: '/a', subpath: '', isFile: false, root: '/a' },
    ...{ device: '8:1', excluded: [], bytes: 10, files: 1 },
  };
  expect(bytesToReadOf([mount, { ...mount, length: 5_000 }])).toBe(5_010);
});

describe('requireSpace', () => {
  it('rejects a restore point that would leave less than 5 % of the disk free', () => {
    const disk = { size: 100e9, free: 10e9, freeFiles: 2_000 };
    expect(() =>
      requireSpaceToSave({ bytes: 5e9, files: 1_000 }, disk, '/backup', 'a restore point'),
    ).not.toThrow();
    expect(() =>
      requireSpaceToSave({ bytes: 5.1e9, files: 1_000 }, disk, '/backup', 'a restore point'),
    ).toThrow(
      expect.objectContaining({
        code: 'no-space',
        message:
          'a restore point needs 5.1 GB in /backup, but only 5.0 GB is available: 10.0 GB is free, and 5 % of the disk (5.0 GB) must stay free',
      }),
    );
  });

  it('requires a free inode for each file, and a reserve for the update itself', () => {
    const disk = { size: 100e9, free: 10e9, freeFiles: 2_000 };
    expect(() =>
      requireSpaceToSave({ bytes: 5e9, files: 1_001 }, disk, '/backup', 'a restore point'),
    ).toThrow(
      expect.objectContaining({
        code: 'no-space',
        message: 'a restore point in /backup needs 2001 free inodes, but only 2000 are free',
      }),
    );
  });
});

const volume = {
  ...{ type: 'volume', source: 'data', destination: '/data', writable: true },
  ...{ path: '/var/lib/docker/volumes/data/_data', subpath: '', driver: 'local' },
};

it('adds the stop timeouts of services that are stopped in turn', () => {
  const own = (service: string, changes: Partial<Container>) => {
    const base = container(`${service}-1`);
    return { ...base, labels: { [composeLabels.service]: service }, ...changes };
  };
  const containers = [
    own('app', { stopTimeout: 10, storage: [] }),
    own('app', { stopTimeout: 35, storage: [] }),
    // With a mount, at least 60 s.
    own('db', { stopTimeout: 10, storage: [volume] }),
    own('cache', { stopTimeout: Infinity, storage: [] }),
    own('idle', { stopTimeout: 90, status: 'exited' }),
  ];
  expect(longestStopSecondsOf(containers, ['app', 'db', 'idle', 'missing'])).toBe(35 + 60);
  expect(longestStopSecondsOf(containers, ['cache'])).toBe(3_600);
});

interface DowntimeRow {
  bytes: number;
  last: { bytes: number; seconds: number } | null;
  range: [number, number];
  stopping: number | null;
}

it.each<DowntimeRow>([
  { bytes: 1e9, last: { bytes: 5e8, seconds: 7 }, range: [13, 13], stopping: null },
  // So little data does not indicate the speed of the disk, but the time for stopping.
  { bytes: 1e9, last: { bytes: 1e6, seconds: 34 }, range: [1.5, 14], stopping: 34 },
  { bytes: 1e6, last: { bytes: 1e6, seconds: 37 }, range: [37, 37], stopping: null },
  { bytes: 3e9, last: null, range: [2.5, 34], stopping: 70 },
])('estimates the downtime for $bytes bytes from the last copy $last', ({ bytes, last, ...downtime }) => {
  expect(estimateDowntime(bytes, last, 70)).toEqual(downtime);
});

it.each([
  [1, '1 MB'],
  [1_250_000_000, '1.3 GB'],
])('formats %d bytes as %s', (bytes, words) => expect(formatSize(bytes)).toBe(words));
