import { expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import {
  checkDowntimeEstimate,
  describeRestorePoint,
  findDependentContainers,
  formatDurationEstimate,
} from '../../../../src/updater/compose/restore-point/describe-restore-point.ts';
import type { RestorePointEstimate } from '../../../../src/updater/data/copies/estimate-restore-point.ts';
import { container } from '../../../build.ts';

const mount = (where: string, bytes: number, excluded: string[] = []) => ({
  ...{ service: 'app', where, volume: '', path: '/x', subpath: '', isFile: false, root: '/x', device: '8:1' },
  ...{ excluded, bytes, files: 1 },
});
const surveyed = (changes: Partial<RestorePointEstimate['point']> = {}): RestorePointEstimate => ({
  point: {
    ...{ excluded: ['cache', 'app:/library'], inMemory: ['mq'] },
    directory: '/opt/svc/.svc-updater/restore',
    mounts: [mount('db:/p', 325e6), mount('app:/data', 2e6, ['library'])],
    ...{ bytes: 327e6, services: ['db'] },
    ...changes,
  },
  ...{ downtime: { range: [2.2, 7.2], stopping: 60 }, outside: ['db.example'] },
  ...{ notSaved: ['app:/tmp (in memory)'], warnings: [], writers: [], needed: 328e6, free: 40e9 },
});

it('describes a restore point', () => {
  expect(describeRestorePoint(surveyed(), ['report-1 (db)'], 'svc')).toEqual([
    'the restore point will contain db:/p (325 MB) and app:/data (2 MB, without "library")',
    'excluded from the restore point and therefore not restored by a rollback: cache, app:/library and the database on db.example',
    'not in the restore point: app:/tmp (in memory)',
    'services that will be stopped while the data is saved, then started again: db',
    'services that keep data only in memory and are restarted after a rollback: mq',
    'svc, db will be unavailable for 3 to 68 s (a guess, with up to 60 s for stopping containers) while the data is saved; after that, svc stays unavailable until the new version is ready',
    'the restore point needs 328 MB; 40.0 GB is free in /opt/svc/.svc-updater/restore',
    'these running containers will not be updated and will lose their connection to the data services: report-1 (db); a rollback discards everything that they write after the data is saved',
  ]);
});

it('bases the downtime on the last update if it was measured', () => {
  const measured = { ...surveyed(), downtime: { range: [36.5, 36.5] as const, stopping: null } };
  expect(describeRestorePoint(measured, [], 'svc').join('\n')).toContain(
    'svc, db will be unavailable for about 37 s (as in the last update) while',
  );
});

it('describes a restore point without data', () => {
  const nothing = { mounts: [], services: [], excluded: [], inMemory: [] };
  const empty = { ...surveyed(nothing), outside: [], notSaved: [] };
  expect(describeRestorePoint(empty, [], 'svc')).toEqual([
    'the restore point will contain no data, because no covered service has a writable mount with data',
    'the restore point needs 328 MB; 40.0 GB is free in /opt/svc/.svc-updater/restore',
  ]);
});

it.each<[number, number, string]>([
  [11.2, 11.2, 'about 12 s'],
  [0, 0, 'about 1 s'],
  [100, 900, '2 to 15 min'],
  [1.2, 181, '2 s to 4 min'],
])('formats an estimate from %d to %d s as %s', (least, most, words) =>
  expect(formatDurationEstimate([least, most])).toBe(words),
);

it.each<[least: number, most: number, limit: number | null, result: string | null]>([
  [100, 900, null, null],
  [
    100,
    901,
    null,
    'svc is expected to be unavailable for 2 to 16 min while the data is saved; use --max-downtime to set a limit',
  ],
  [100, 901, 901, null],
  [
    2,
    20,
    10,
    'svc is expected to be unavailable for 2 to 20 s while the data is saved, but --max-downtime allows 10 s',
  ],
])('a downtime from %d to %d s, with a limit of %o, gives the warning %o', (least, most, limit, result) => {
  const warnings = checkDowntimeEstimate(
    { ...surveyed(), downtime: { range: [least, most], stopping: 60 } },
    limit,
    'svc',
  );
  expect(warnings).toEqual(result === null ? [] : [expect.stringContaining(result)]);
});

it('refuses an update whose downtime is certainly longer than allowed', () => {
  const warn = (changes: Partial<RestorePointEstimate['point']>) => () =>
    checkDowntimeEstimate({ ...surveyed(changes), downtime: { range: [11, 20], stopping: 60 } }, 10, 'svc');
  expect(warn({})).toThrow(
    expect.objectContaining({
      code: 'data-unsupported',
      message: expect.stringContaining('--max-downtime allows 10 s'),
    }),
  );
  expect(warn({ mounts: [] })()).toEqual([]);
});

it('finds the running containers that use a covered service', () => {
  const of = (
    place: string,
    project: string,
    networks: string[],
    changes: Partial<Container> = {},
  ): Container => {
    const base = container(place);
    return { ...base, networks, labels: { ...base.labels, [composeLabels.project]: project }, ...changes };
  };
  const containers = [
    of('app-1', 'svc', ['a']),
    of('db-1', 'svc', ['a', 'shared', 'bridge']),
    of('admin-1', 'svc', ['a']),
    of('idle-1', 'svc', ['a'], { status: 'exited' }),
    of('proxy-1', 'svc', ['a']),
    of('report-1', 'other', ['shared'], { name: 'other-report-1' }),
    of('web-1', 'other', ['bridge', 'b']),
    of('updater-1', '', ['shared'], { imageId: 'sha256:tools' }),
  ];
  const uses = { depends_on: { db: {} } };
  const services = { app: uses, db: {}, admin: uses, idle: uses, proxy: { depends_on: { app: {} } } };
  const using = {
    model: { name: 'svc', services },
    containers,
    updated: ['app'],
    helperImageId: 'sha256:tools',
  };
  expect(findDependentContainers(['db'], using)).toEqual(['svc-admin-1 (db)', 'other-report-1 (db)']);
  expect(findDependentContainers([], using)).toEqual([]);
});
