import { describe, expect, it } from 'vitest';
import { composeLabels } from '../../../src/engine/objects/labels.ts';
import { findRollbackObstacles } from '../../../src/updater/data/find-rollback-obstacles.ts';
import { blueprint, changeover, container, journalData, movedService } from '../../build.ts';

const [app, db] = ['sha256:2222', 'sha256:dddd'];
const of = (service: string) => ({ Labels: { [composeLabels.service]: service } });
const back = journalData({
  changeover: changeover({
    moved: [
      movedService('migrate', { runsOnce: true }),
      movedService('app', { image: { reference: 'acme/svc:v2', id: app } }),
      movedService('sidecar', { follows: true, image: null }),
    ],
    containers: [],
  }),
  blueprints: [
    {
      ...blueprint('aa', { config: of('app') }),
      ...{ imageId: 'sha256:1111', imageReference: 'acme/svc:v1', name: 'svc-app-1' },
    },
    blueprint('dd', { config: of('db'), imageId: db, imageReference: 'postgres:16', name: 'svc-db-1' }),
  ],
});
const asLeft = {
  edited: [],
  files: [{ path: '/opt/svc/.env', state: 'after' as const }],
  containers: [container('app-1', { imageId: app }), container('db-1', { imageId: db })],
  images: new Set(['sha256:1111', db]),
};
type Now = Parameters<typeof findRollbackObstacles>[2];

describe('findRollbackObstacles', () => {
  it('accepts the state after an update, even if a data service was recreated from the same image', () => {
    expect(findRollbackObstacles(back, ['db'], asLeft)).toEqual([]);
    const recreated = [container('app-1', { imageId: app }), container('db-1', { id: 'ee', imageId: db })];
    expect(findRollbackObstacles(back, ['db'], { ...asLeft, containers: recreated })).toEqual([]);
  });

  it.each<[string, Partial<Now>, string[]]>([
    [
      'a file that was saved since',
      { files: [{ path: '/opt/svc/.env', state: 'other' }] },
      ['/opt/svc/.env has changed since the update'],
    ],
    [
      'a running container of a later version',
      { containers: [container('app-1', { imageId: 'sha256:3333' }), ...asLeft.containers] },
      ['the image used by svc-app-1 has changed since the update'],
    ],
    [
      'a database without a container',
      { containers: asLeft.containers.slice(0, 1) },
      ['db no longer has a container'],
    ],
    [
      'a database of another image',
      { containers: [...asLeft.containers.slice(0, 1), container('db-1', { imageId: 'sha256:eeee' })] },
      ['the image used by db has changed since the data was saved'],
    ],
    [
      'a pruned image',
      { images: new Set([db]) },
      ['the image acme/svc:v1, which svc-app-1 used before the update, is no longer on this machine'],
    ],
  ])('reports %s as an obstacle', (_, changes, reasons) => {
    expect(findRollbackObstacles(back, ['db'], { ...asLeft, ...changes })).toEqual(reasons);
  });
});
