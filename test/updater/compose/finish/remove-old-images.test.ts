import { expect, it } from 'vitest';
import { findUnusedRepositoryImages } from '../../../../src/updater/compose/finish/remove-old-images.ts';
import { changeover, container, movedService, record } from '../../../build.ts';

const digest = (digit: string) => `sha256:${digit.repeat(64)}`;
/** An update of `app` from `sha256:old` to `sha256:new` in a project with a database. */
const update = changeover({
  moved: [movedService('app', { image: { reference: 'docker.io/acme/svc:v1.1.0', id: 'sha256:new' } })],
  containers: [
    record(container('app-1', { imageId: 'sha256:old' })),
    record(container('db-1', { imageId: 'sha256:db' })),
  ],
});

interface Listed {
  id?: string;
  tags?: string[];
  digests?: string[];
}

it.each<[situation: string, image: Listed, removed: string[] | null]>([
  ['an older tag', { tags: ['acme/svc:v1.0.0'] }, ['acme/svc:v1.0.0']],
  ['two tags of one image', { tags: ['acme/svc:v1.0.0', 'acme/svc:1'] }, ['acme/svc:v1.0.0', 'acme/svc:1']],
  [
    'a tag together with its digest',
    { tags: ['acme/svc:v1.0.0'], digests: [`acme/svc@${digest('a')}`] },
    ['acme/svc:v1.0.0'],
  ],
  ['an image by its digest', { digests: [`acme/svc@${digest('a')}`] }, [`acme/svc@${digest('a')}`]],
  ['its own tag alone', { tags: ['other/svc:v1', 'acme/svc:v1.0.0'] }, ['acme/svc:v1.0.0']],
  ['the replaced image, whose tag has moved', { id: 'sha256:old' }, ['sha256:old']],
  ['no other image without a name', { id: 'sha256:db' }, null],
  ['no image of another repository', { tags: ['acme/svc-tools:v1.0.0', 'mirror/acme/svc:v1.0.0'] }, null],
  ['no replaced image that another name protects', { id: 'sha256:old', tags: ['mine:1'] }, null],
  ['no image of the new version', { id: 'sha256:new', tags: ['acme/svc:v1', 'acme/svc:v1.1.0'] }, null],
  ['no used image', { id: 'sha256:used', tags: ['acme/svc:v1.0.0'] }, null],
  [
    'no image of a restore point',
    { tags: ['acme/svc:v1.0.0', 'svc-updater-restore-point:svc-2026-abc'] },
    null,
  ],
  ['no name that is none', { tags: ['<none>:<none>'], digests: ['<none>@<none>'] }, null],
])('removes %s', (_, { id = 'sha256:other', tags = [], digests = [] }, removed) => {
  const found = findUnusedRepositoryImages(
    [{ id, tags, digests, size: 5 }],
    new Set(['sha256:used']),
    update,
  );
  expect(found).toEqual(removed === null ? [] : [{ references: removed, bytes: 5 }]);
});

it('removes nothing if the reference of the new image cannot be parsed', () => {
  const moved = [movedService('app', { image: { reference: 'Not A Name', id: 'sha256:new' } })];
  const listed = { id: 'sha256:x', tags: ['<none>:<none>'], digests: [], size: 5 };
  expect(findUnusedRepositoryImages([listed], new Set(), { ...update, moved })).toEqual([]);
});
