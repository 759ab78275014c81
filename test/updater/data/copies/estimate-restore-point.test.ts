import { describe, expect, it } from 'vitest';
import {
  bytesToReadOf,
  estimateDowntime,
  listUnsavableContentReasons,
  removeAliasedMounts,
  requireSpaceToSave,
} from '../../../../src/updater/data/copies/estimate-restore-point.ts';
import type { MountInspection } from '../../../../src/updater/data/helper-program/helper-result.ts';
import type { SavedMount } from '../../../../src/updater/data/restore-point.ts';
import { formatSize } from '../../../../src/updater/run/log/format-values.ts';

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

it.each<[bytes: number, last: { bytes: number; seconds: number } | null, least: number, most: number]>([
  [1e9, { bytes: 5e8, seconds: 7 }, 13, 13],
  // So little data does not indicate the speed of the disk.
  [1e9, { bytes: 1e6, seconds: 4 }, 1.5, 14],
  [1e6, { bytes: 1e6, seconds: 4 }, 4, 4],
  [3e9, null, 2.5, 34],
])('estimates the duration for %d bytes from the last copy %o: %d to %d s', (bytes, last, least, most) => {
  expect(estimateDowntime(bytes, last)).toEqual([least, most]);
});

it.each([
  [1, '1 MB'],
  [1_250_000_000, '1.3 GB'],
])('formats %d bytes as %s', (bytes, words) => expect(formatSize(bytes)).toBe(words));
