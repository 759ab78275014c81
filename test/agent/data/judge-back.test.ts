import { describe, expect, it } from 'vitest';
import { judgeBack } from '../../../src/agent/data/judge-back.ts';
import { blueprint, changeover, container, journalData, movedService } from '../../build.ts';

const then = { reference: 'acme/svc:v2', id: 'sha256:2222' };
const app = movedService('app', { image: then });
const back = journalData({
  changeover: changeover({ moved: [app], containers: [] }),
  blueprints: [
    { ...blueprint('aa'), imageId: 'sha256:1111', imageReference: 'acme/svc:v1', name: 'svc-app-1' },
  ],
});
const asLeft = {
  files: [{ path: '/opt/svc/.env', state: 'after' as const }],
  containers: [container('app-1', { imageId: then.id })],
  images: new Set(['sha256:1111']),
};

describe('judgeBack', () => {
  it('has nothing against what an update left', () => {
    expect(judgeBack(back, asLeft)).toEqual([]);
  });

  it.each([
    [
      'a file that somebody saved',
      { files: [{ path: '/opt/svc/.env', state: 'other' as const }] },
      ['/opt/svc/.env is not as the update left it'],
    ],
    [
      'a file that is as before',
      { files: [{ path: '/opt/svc/.env', state: 'before' as const }] },
      ['/opt/svc/.env is not as the update left it'],
    ],
    [
      'a container of a later version',
      { containers: [container('app-1', { imageId: 'sha256:3333', name: 'svc-app-1' })] },
      ['svc-app-1 runs another image than the update left'],
    ],
    ['no container', { containers: [] }, ['app has no container any more']],
    [
      'a pruned image',
      { images: new Set<string>() },
      ['the image of svc-app-1, acme/svc:v1, is not on this machine any more'],
    ],
  ])('tells %s', (_, changes, told) => {
    expect(judgeBack(back, { ...asLeft, ...changes })).toEqual(told);
  });
});
