import { chmod, chown, mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPlace, type Point, placeOf, readPoint, writePoint } from '../../../src/agent/data/point.ts';

const run = '20261121T104207Z';
const point: Point = {
  ...{ format: 1, at: null, version: 'v1.4.2', next: 'v1.5.0', entries: [], left: [], back: null },
};
let directory = '';
const placeIn = (parent: string) => placeOf(join(parent, run), { directory });
const restore = () => join(directory, '.svc-updater', 'restore');

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'point-'));
  await mkdir(join(directory, '.svc-updater'));
});
afterEach(() => rm(directory, { recursive: true }));

describe.runIf(process.getuid?.() === 0)('in the directory of somebody else', () => {
  beforeEach(async () => {
    for (const path of [directory, join(directory, '.svc-updater')]) await chown(path, 1000, 1000);
  });

  it('a point is of root alone', async () => {
    const place = placeIn(restore());
    await openPlace(place);
    await writePoint(place, point);
    for (const path of [restore(), place.here, join(place.here, 'point.json')]) {
      const { uid, mode } = await stat(path);
      expect([uid, mode & 0o077]).toEqual([0, 0]);
    }
    expect(await readPoint(place)).toEqual(point);
    await openPlace(place);
  });

  it.each(['record', 'directory', 'directory of all', 'link'])('a %s of his is none', async (what) => {
    const place = placeIn(restore());
    await openPlace(place);
    await writePoint(place, point);
    if (what === 'record') await chown(join(place.here, 'point.json'), 1000, 1000);
    if (what === 'directory') await chown(place.here, 1000, 1000);
    if (what === 'directory of all') await chown(restore(), 1000, 1000);
    if (what === 'link') {
      await rename(restore(), join(directory, 'elsewhere'));
      await symlink(join(directory, 'elsewhere'), restore());
    }
    await expect(readPoint(place)).rejects.toMatchObject({ code: 'foreign-state' });
    if (what !== 'record') await expect(openPlace(place)).rejects.toMatchObject({ code: 'foreign-state' });
  });

  it('elsewhere, whose the directory is that was named does not count', async () => {
    const place = placeIn(join(directory, 'points'));
    await mkdir(join(directory, 'points'), { mode: 0o777 });
    await chmod(join(directory, 'points'), 0o777);
    await chown(join(directory, 'points'), 1000, 1000);
    await openPlace(place);
    await writePoint(place, point);
    expect(await stat(join(directory, 'points'))).toMatchObject({ uid: 1000 });
    expect(await readPoint(place)).toEqual(point);
    await chown(place.here, 1000, 1000);
    await expect(readPoint(place)).rejects.toMatchObject({ code: 'foreign-state' });
  });
});

it('one that is not there is none, and what is no record is damaged', async () => {
  const place = placeIn(restore());
  expect(await readPoint(place)).toBeNull();
  await openPlace(place);
  expect(await readPoint(place)).toBeNull();
  await writeFile(join(place.here, 'point.json'), '{}', { mode: 0o600 });
  await expect(readPoint(place)).rejects.toMatchObject({ code: 'point-damaged' });
});
