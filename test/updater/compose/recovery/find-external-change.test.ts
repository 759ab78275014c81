import { describe, expect, it } from 'vitest';
import type { FileState } from '../../../../src/core/files/transaction/file-record.ts';
import type { Container } from '../../../../src/engine/objects/container.ts';
import {
  type CurrentProjectState,
  findExternalChange,
} from '../../../../src/updater/compose/recovery/find-external-change.ts';
import type { JournalData } from '../../../../src/updater/run/state/journal.ts';
import type { Rollout } from '../../../../src/updater/run/state/rollout.ts';
import { changeover, container, ending, journalData, movedService, record } from '../../../build.ts';

const app = container('app-1');
const worker = container('worker-1', { imageId: 'sha256:old-worker' });
const sidecar = container('sidecar-1', { imageId: 'sha256:sidecar' });
const database = container('database-1', { imageId: 'sha256:database' });
const before = [app, worker, sidecar, database];

/** A container that was created after the run began, as a replacement or in addition. */
const made = (place: string, image = 'new'): Container =>
  container(`${place}-made`, { imageId: `sha256:${image}` });

const replacing = changeover({
  moved: [
    movedService('app'),
    movedService('worker'),
    movedService('sidecar', { follows: true, image: null }),
  ],
  containers: before.map((each) => record(each)),
});
const goingBack = { at: 'rolling-back', from: 'replacing', ending: ending('failed') } as const;

interface Found {
  files?: FileState[];
  now?: readonly Container[];
  /** ID of the image that the new reference points to now. */
  image?: string | null;
}

function laterChange(
  changes: Partial<JournalData>,
  { files = ['after'], now = before, image = 'sha256:new' }: Found,
) {
  const data = journalData({ containers: before.map((each) => record(each)), ...changes });
  const remains: CurrentProjectState = {
    files: files.map((state, at) => ({ path: ['/opt/svc/.env', '/opt/svc/compose.yaml'][at] ?? '', state })),
    containers: now,
    images: new Map(image === null ? [] : [['acme/svc:v1.1.0', { id: image }]]),
  };
  return findExternalChange(data, remains);
}

type Row = [situation: string, Found, laterChange: string | null];
const appMade = 'svc-app-1 was created by another process';
const workerMade = 'svc-worker-1 was created by another process';
const sidecarMade = 'svc-sidecar-1 was created by another process';
const envChanged = '/opt/svc/.env matches neither the original file nor the file that the update wrote';
const envBefore = '/opt/svc/.env was changed back to its original contents';
const fileChanged =
  '/opt/svc/compose.yaml matches neither the original file nor the file that the update wrote';

describe('findLaterChange, after a run that was killed', () => {
  it.each<Row>([
    ['left everything alone', { files: [] }, null],
    ['whose containers are gone: it was about none yet', { files: [], now: [] }, null],
    ['beside which somebody made a container', { now: [...before, made('app-2', 'any')] }, null],
    ['in whose files somebody has been', { files: ['other'] }, envChanged],
  ])('during the pull, and %s', (_, found, expected) => {
    expect(laterChange({ state: { at: 'pulling' } }, found)).toBe(expected);
  });

  it.each<Row>([
    ['had written nothing yet', { files: ['before', 'before'] }, null],
    ['had written all', { files: ['after', 'after'] }, null],
    ['whose second file was changed since', { files: ['after', 'other'] }, fileChanged],
    ['beside which a worker was made', { now: [...before, made('worker-1')] }, workerMade],
  ])('before it saved or wrote anything, and %s', (_, found, expected) => {
    for (const at of ['saving', 'writing'] as const)
      expect(laterChange({ state: { at } }, found)).toBe(expected);
  });

  it.each<Row>([
    ['had written nothing yet', { files: ['before', 'before'] }, null],
    ['had moved no tag yet', { files: ['after'], image: 'sha256:old' }, null],
    ['whose image is gone', { image: null }, null],
    ['whose app was started by somebody in its new version', { now: [made('app-1'), worker] }, null],
    ['whose app runs an image of neither', { now: [made('app-1', 'other'), worker] }, appMade],
    ['whose app was recreated from the old image', { now: [made('app-1', 'old')] }, appMade],
    ['whose follower got another image', { now: [app, made('sidecar-1')] }, sidecarMade],
  ])('while data was saved or files written, and %s', (_, found, expected) => {
    for (const at of ['saving', 'writing'] as const)
      expect(laterChange({ state: { at }, changeover: replacing }, found)).toBe(expected);
  });

  it('while data was restored, and whose files were changed: the restore is always finished', () => {
    const state = { at: 'restoring', ending: null } as const;
    expect(laterChange({ state, changeover: replacing }, { files: ['other'] })).toBeNull();
  });

  it.each<Row>([
    ['had replaced nothing yet', {}, null],
    ['had replaced the app', { now: [made('app-1'), worker, sidecar, database] }, null],
    ['whose app runs an image of neither', { now: [made('app-1', 'other'), worker] }, appMade],
    ['whose app was made anew from the old image', { now: [made('app-1', 'old')] }, appMade],
    ['whose worker runs the old image of the app', { now: [made('worker-1', 'old')] }, workerMade],
    ['had made the follower anew', { now: [app, made('sidecar-1', 'sidecar')] }, null],
    ['whose follower got another image', { now: [app, made('sidecar-1')] }, sidecarMade],
    ['beside which the database was replaced', { now: [app, made('database-1', 'any')] }, null],
    ['whose file was changed', { files: ['after', 'other'] }, fileChanged],
    ['whose file somebody has put back', { files: ['before', 'after'] }, envBefore],
    [
      'whose tag has moved since',
      { image: 'sha256:newer' },
      'acme/svc:v1.1.0 now points to a different image',
    ],
    ['whose image is gone', { image: null }, 'acme/svc:v1.1.0 now points to a different image'],
  ])('while it replaced containers, and %s', (_, found, expected) => {
    for (const at of ['replacing', 'verifying'] as const)
      expect(laterChange({ state: { at }, changeover: replacing }, found)).toBe(expected);
  });

  it.each<Row>([
    ['had put nothing back yet', {}, null],
    ['had put a file back', { files: ['before', 'after'] }, null],
    ['had put a file back that somebody changed then', { files: ['before', 'other'] }, fileChanged],
    ['had not removed the new app yet', { now: [made('app-1'), worker] }, null],
    ['whose app runs an image of neither', { now: [made('app-1', 'other')] }, appMade],
    ['whose new image is gone', { image: null }, null],
  ])('during the rollback, and %s', (_, found, expected) => {
    expect(laterChange({ state: goingBack, changeover: replacing }, found)).toBe(expected);
  });

  it('accepts a tag that was published again with the same content', () => {
    const image = { reference: 'acme/svc:v1.1.0', id: 'sha256:index-1', manifests: ['sha256:amd64'] };
    const moved = [movedService('app', { image })];
    const data = journalData({
      state: { at: 'verifying' },
      changeover: { ...replacing, moved } satisfies Rollout,
    });
    const found = (id: string, digest: string) => {
      const app = container('app-1-made', { imageId: id, imageManifest: digest });
      const images = new Map([[image.reference, { id, manifests: [digest] }]]);
      return findExternalChange(data, { files: [], containers: [app], images });
    };
    expect(found('sha256:index-2', 'sha256:amd64')).toBeNull();
    expect(found('sha256:index-2', 'sha256:other')).toBe('svc-app-1 was created by another process');
  });

  it('checks the image of every service, except the unchanged image of a follower', () => {
    const moved = [
      movedService('sidecar', { follows: true, image: null }),
      movedService('app'),
      movedService('worker', { image: { reference: 'acme/worker:v1.1.0', id: 'sha256:new-worker' } }),
    ];
    const data = journalData({
      state: { at: 'verifying' },
      changeover: { ...replacing, moved } satisfies Rollout,
    });
    const images = (worker: string) =>
      new Map([
        ['acme/svc:v1.1.0', { id: 'sha256:new' }],
        ['acme/worker:v1.1.0', { id: worker }],
      ]);
    const remains = { files: [], containers: before };
    expect(findExternalChange(data, { ...remains, images: images('sha256:new-worker') })).toBeNull();
    expect(findExternalChange(data, { ...remains, images: images('sha256:newer') })).toBe(
      'acme/worker:v1.1.0 now points to a different image',
    );
  });
});
