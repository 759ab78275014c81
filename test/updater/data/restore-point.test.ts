import { chmod, chown, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { HostPaths } from '../../../src/core/mounts/host-paths.ts';
import { initialJournaledRestorePoint } from '../../../src/updater/compose/save/save-data.ts';
import type { RestorePointLocation } from '../../../src/updater/data/data-context.ts';
import {
  createRestorePointDirectory,
  findRestorePoints,
  isCompleteRestorePoint,
  type RestorePointRecordData,
  readRestorePointRecord,
  resolveRestorePointsDirectory,
  restorePointLocationOf,
  writeRestorePointRecord,
} from '../../../src/updater/data/restore-point.ts';
import { journalSchema } from '../../../src/updater/run/state/journal-schema.ts';
import { journalData } from '../../build.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';

const at = Date.parse('2026-11-21T10:42:07Z');
const run = '20261121T104207Z';
const isRoot = process.getuid?.() === 0;
const mount: RestorePointRecordData['mounts'][number] = {
  ...{ service: 'db', where: 'db:/data', volume: 'svc_data', path: '/var/lib/docker/volumes/svc_data/_data' },
  ...{ subpath: '', isFile: false, root: '/', device: '8:1', excluded: ['cache'], bytes: 3, files: 1 },
};

let home = '';
let owner = { name: 'svc', directory: '' };
/** The default directory, inside the compose directory. */
const usual = () => join(home, '.svc-updater', 'restore');
const record = (place: RestorePointLocation) => join(place.directory, 'point.json');
const pointOf = (
  project: { name: string; directory: string },
  changes: Partial<RestorePointRecordData> = {},
): RestorePointRecordData => ({
  ...{ format: 2, kind: 'update', project: project.name, directory: project.directory, run },
  ...{ at: '2026-11-21T10:43:00.000Z', version: 'v1.4.2', next: 'v1.5.0', services: ['db'], inMemory: [] },
  ...{
    mounts: [mount],
    hashes: ['0'.repeat(64)],
    images: [],
    fileHashes: [],
    excluded: [],
    bytes: 3,
    downtimeSeconds: 4.2,
    back: null,
  },
  ...changes,
});

beforeEach(async () => {
  home = await temporaryDirectory();
  owner = { name: 'svc', directory: home };
  await mkdir(join(home, '.svc-updater'));
});

describe('the record of a restore point', () => {
  it('is read unchanged after writing, and does not exist before', async () => {
    const place = await createRestorePointDirectory(usual(), owner, at);
    expect(await readRestorePointRecord(place)).toBeNull();
    const complete = pointOf(owner);
    await writeRestorePointRecord(place, complete);
    expect(await readRestorePointRecord(place)).toEqual(complete);
    expect([isCompleteRestorePoint(complete), isCompleteRestorePoint({ ...complete, at: null })]).toEqual([
      true,
      false,
    ]);
    expect(
      await readRestorePointRecord(restorePointLocationOf(join(usual(), '20200101T000000Z'), owner)),
    ).toBeNull();
  });

  it('is reported as damaged if any byte of its values changes', async () => {
    const place = await createRestorePointDirectory(usual(), owner, at);
    await writeRestorePointRecord(place, pointOf(owner));
    const text = await readFile(record(place), 'utf8');
    const values = [...text.matchAll(/[\w.]/g)].map(({ index }) => index);
    expect(values.length).toBeGreaterThan(300);
    for (const index of values) {
      const other = text[index] === '1' ? '2' : '1';
      await writeFile(record(place), text.slice(0, index) + other + text.slice(index + 1));
      await expect(readRestorePointRecord(place), text.slice(0, index + 1)).rejects.toMatchObject({
        code: 'restore-point-damaged',
      });
    }
  });

  it.each(['', '{}', 'null', '[]', '{"sha256":"', '{"sha256":null,"point":null}'])(
    'is reported as damaged if the file contains %j',
    async (text) => {
      const place = await createRestorePointDirectory(usual(), owner, at);
      await writeFile(record(place), text, { mode: 0o600 });
      await expect(readRestorePointRecord(place)).rejects.toMatchObject({ code: 'restore-point-damaged' });
    },
  );

  it.each<[string, object]>([
    ['a field that nobody knows', { more: 1 }],
    ['a run that is no folder name', { run: '../x' }],
    ['a journal that is none', { back: {} }],
    ['a relative path', { mounts: [{ ...mount, path: 'etc' }] }],
    ['the whole disk', { mounts: [{ ...mount, path: '/' }] }],
    ['a path with ..', { mounts: [{ ...mount, path: '/var/../etc' }] }],
    ['a path that ends in ..', { mounts: [{ ...mount, path: '/var/..' }] }],
    ['a path with .', { mounts: [{ ...mount, path: '/var/./lib' }] }],
    ['a path with //', { mounts: [{ ...mount, path: '/var//lib' }] }],
    ['a path with a slash at its end', { mounts: [{ ...mount, path: '/var/' }] }],
    ['a path with NUL', { mounts: [{ ...mount, path: '/var\0/lib' }] }],
    ['a path with .. behind a line break', { mounts: [{ ...mount, path: '/a\n/../etc' }] }],
    ['a subpath above the volume', { mounts: [{ ...mount, subpath: '../x' }] }],
    ['an absolute subpath', { mounts: [{ ...mount, subpath: '/x' }] }],
    ['an exclusion above the mount', { mounts: [{ ...mount, excluded: ['a/../..'] }] }],
    ['an option for a volume', { mounts: [{ ...mount, volume: '--privileged' }] }],
    ['a path for a volume', { mounts: [{ ...mount, volume: '/etc' }] }],
  ])('is rejected with %s, even if its checksum is correct', async (_, changes) => {
    const place = await createRestorePointDirectory(usual(), owner, at);
    await writeRestorePointRecord(place, { ...pointOf(owner), ...changes } as RestorePointRecordData);
    await expect(readRestorePointRecord(place)).rejects.toMatchObject({ code: 'restore-point-damaged' });
  });

  it.each([1, 3])('is reported as unreadable, not as damaged, if its format is %d', async (format) => {
    const place = await createRestorePointDirectory(usual(), owner, at);
    await writeRestorePointRecord(place, {
      ...pointOf(owner),
      format,
      more: 1,
    } as unknown as RestorePointRecordData);
    await expect(readRestorePointRecord(place)).rejects.toMatchObject({
      code: 'restore-point-unreadable',
      message: `${record(place)} was written by another version of the updater`,
    });
  });

  it('is reported as unreadable, not as damaged, if reading the file fails', async () => {
    const place = await createRestorePointDirectory(usual(), owner, at);
    await mkdir(record(place), { mode: 0o700 });
    await expect(readRestorePointRecord(place)).rejects.toMatchObject({
      code: 'restore-point-unreadable',
      message: expect.stringContaining('EISDIR'),
    });
  });
});

describe.runIf(isRoot)('in a directory of another user', () => {
  beforeEach(async () => {
    for (const path of [home, join(home, '.svc-updater')]) await chown(path, 1000, 1000);
  });

  it('a restore point belongs to root and is readable only by root', async () => {
    const place = await createRestorePointDirectory(usual(), owner, at);
    await writeRestorePointRecord(place, pointOf(owner));
    for (const path of [usual(), place.directory, record(place)]) {
      const { uid, mode } = await stat(path);
      expect([uid, mode & 0o077]).toEqual([0, 0]);
    }
    expect(await readRestorePointRecord(place)).not.toBeNull();
  });

  it.each<[string, string[]]>([
    ['record', ['read']],
    ['writable record', ['read']],
    ['linked record', ['read']],
    ['directory', ['read']],
    ['linked directory', ['read']],
    ['directory of all', ['read', 'make']],
    ['link to all', ['read', 'make']],
  ])('the updater rejects a %s of that user', async (what, refused) => {
    const place = await createRestorePointDirectory(usual(), owner, at);
    await writeRestorePointRecord(place, pointOf(owner));
    const elsewhere = join(home, 'elsewhere');
    const link = async (path: string) => {
      await rename(path, elsewhere);
      await symlink(elsewhere, path);
    };
    if (what === 'record') await chown(record(place), 1000, 1000);
    if (what === 'writable record') await chmod(record(place), 0o666);
    if (what === 'linked record') await link(record(place));
    if (what === 'directory') await chown(place.directory, 1000, 1000);
    if (what === 'linked directory') await link(place.directory);
    if (what === 'directory of all') await chown(usual(), 1000, 1000);
    if (what === 'link to all') await link(usual());
    const outcomes = {
      read: readRestorePointRecord(place),
      make: createRestorePointDirectory(usual(), owner, at + 60_000),
    };
    const codes = await Promise.all(
      Object.entries(outcomes).map(([name, promise]) =>
        promise.then(
          () => [],
          (error) => (error.code === 'unexpected-file' ? [name] : [error]),
        ),
      ),
    );
    expect(codes.flat()).toEqual(refused);
  });

  it('the updater accepts any owner of the directory specified with --restore-dir', async () => {
    const points = join(home, 'points');
    await mkdir(points);
    await chmod(points, 0o777);
    await chown(points, 1000, 1000);
    const place = await createRestorePointDirectory(points, owner, at);
    await writeRestorePointRecord(place, pointOf(owner));
    expect(await stat(points)).toMatchObject({ uid: 1000 });
    expect(await readRestorePointRecord(place)).toEqual(pointOf(owner));
    await chown(place.directory, 1000, 1000);
    await expect(readRestorePointRecord(place)).rejects.toMatchObject({ code: 'unexpected-file' });
  });
});

describe('restore point directories', () => {
  it('belong to one run each, even if several runs start in the same second', async () => {
    const places = await Promise.all([1, 2, 3].map(() => createRestorePointDirectory(usual(), owner, at)));
    expect(places.map(({ directory }) => directory.slice(usual().length + 1)).toSorted()).toEqual([
      run,
      '20261121T104208Z',
      '20261121T104209Z',
    ]);
  });

  it('are named after project, directory and run if several projects can share the parent directory', async () => {
    const shared = join(home, 'points');
    const place = await createRestorePointDirectory(shared, owner, at);
    expect(await readdir(shared)).toEqual([expect.stringMatching(/^svc-[0-9a-f]{12}-20261121T104207Z$/)]);
    // The journal schema also accepts the created directory.
    const point = { ...initialJournaledRestorePoint, directory: place.directory, inMemory: [] };
    expect(journalSchema.safeParse(journalData({ point })).success).toBe(true);
    expect(
      (await createRestorePointDirectory(shared, { name: 'svc', directory: '/srv/svc' }, at)).directory,
    ).not.toBe(place.directory);
  });

  it('are listed only for their own project, newest first', async () => {
    const shared = join(home, 'points');
    const others = [
      { name: 'svc', directory: '/srv/other' },
      { name: 'svc-test', directory: home },
      { name: 'other', directory: home },
    ];
    for (const each of [owner, ...others])
      for (const later of [0, 60_000])
        await writeRestorePointRecord(
          await createRestorePointDirectory(shared, each, at + later),
          pointOf(each),
        );
    await mkdir(join(shared, 'lost+found'));
    for (const each of [owner, ...others]) {
      const places = await findRestorePoints(shared, each);
      expect(places.map(({ directory }) => directory.slice(-16))).toEqual(['20261121T104307Z', run]);
      for (const place of places)
        expect(await readRestorePointRecord(place)).toMatchObject({
          project: each.name,
          directory: each.directory,
        });
    }
  });

  it('are listed even without a valid record, but not if they belong to another project in the same compose directory', async () => {
    const other = { name: 'other', directory: home };
    await writeRestorePointRecord(await createRestorePointDirectory(usual(), other, at), pointOf(other));
    const own = await createRestorePointDirectory(usual(), owner, at + 1_000);
    await writeRestorePointRecord(own, pointOf(owner));
    const halfMade = await createRestorePointDirectory(usual(), owner, at + 2_000);
    const damaged = await createRestorePointDirectory(usual(), owner, at + 3_000);
    await writeFile(record(damaged), '{}', { mode: 0o600 });
    expect((await findRestorePoints(usual(), owner)).map(({ directory }) => directory)).toEqual([
      damaged.directory,
      halfMade.directory,
      own.directory,
    ]);
  });

  it('cannot be created if the parent directory does not exist', async () => {
    await expect(createRestorePointDirectory(join(home, 'no', 'where'), owner, at)).rejects.toMatchObject({
      code: 'save-failed',
    });
  });

  it('are in the compose directory, or in the host path of --restore-dir', () => {
    const paths = new HostPaths([
      { type: 'bind', source: '/srv/points', destination: '/points', writable: true },
    ]);
    expect(resolveRestorePointsDirectory(null, paths, owner)).toBe(usual());
    expect(resolveRestorePointsDirectory('/points/a', paths, owner)).toBe('/srv/points/a');
    expect(() => resolveRestorePointsDirectory('/tmp', paths, owner)).toThrow(
      expect.objectContaining({ code: 'outside-mounts' }),
    );
  });
});
