import { describe, expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import {
  type ContainerRecord,
  containerRecordOf,
  hasNewVersionStarted,
  isNewContainer,
  isServiceUpdated,
  isTargetReached,
  type Rollout,
  requiredContainerIdsOf,
  shouldRunContainer,
  type UpdatedService,
} from '../../../../src/updater/run/state/rollout.ts';
import { began, changeover, container, containers, movedService, never, record } from '../../../build.ts';

/** A container created during the update. */
const made = (place: string, changes: Partial<Container> = {}): Container =>
  container(place, { id: `${place}-new`, imageId: 'sha256:new', ...changes });
const keepsImage = { follows: true, image: null };

const about = (
  before: readonly Container[],
  moved: readonly UpdatedService[] = [movedService('app'), movedService('worker')],
): Rollout => changeover({ moved, containers: before.map((each) => record(each)) });

describe('recordOf', () => {
  it.each<
    [found: Partial<Container>, wasInterrupted: boolean, is: Pick<ContainerRecord, 'runs' | 'down' | 'well'>]
  >([
    [{ status: 'running' }, false, { runs: true, down: false, well: true }],
    [{ status: 'running', health: 'starting' }, false, { runs: true, down: false, well: true }],
    [{ status: 'running', health: 'unhealthy' }, false, { runs: true, down: false, well: false }],
    [{ status: 'restarting' }, false, { runs: true, down: false, well: false }],
    // The updater does not wait for a paused container.
    [{ status: 'paused' }, false, { runs: true, down: false, well: false }],
    [{ status: 'exited' }, false, { runs: false, down: true, well: false }],
    [{ status: 'exited' }, true, { runs: true, down: true, well: true }],
    [{ status: 'created' }, false, { runs: false, down: true, well: false }],
  ])('records %j, interrupted: %j, as %j', (found, wasInterrupted, is) => {
    expect(containerRecordOf(container('app-1', found), () => wasInterrupted)).toMatchObject(is);
  });

  it.each<[found: Partial<Container>, upForMs: number, well: boolean]>([
    [{ restartCount: 1, health: 'starting' }, 60_000, false],
    [{ restartCount: 1 }, 14_000, false],
    [{ restartCount: 1 }, 15_000, true],
    [{ restartCount: 0 }, 1_000, true],
  ])('records whether %j, running for %d ms, was healthy: %j', (found, upForMs, well) => {
    const time = Date.parse(began) + upForMs;
    expect(containerRecordOf(container('app-1', found), () => false, time)).toMatchObject({
      runs: true,
      well,
    });
  });

  it('stores the fields that identify a container', () => {
    const { runs, down, well, ...rest } = containerRecordOf(
      container('worker-12', { id: 'w12' }),
      () => false,
    );
    const place = { id: 'w12', name: 'svc-worker-12', service: 'worker', number: 12 };
    expect(rest).toEqual({ ...place, imageId: 'sha256:old', reference: 'acme/svc:v1.0.0', startedAt: began });
  });
});

describe('isNewContainer and hasNewVersionStarted', () => {
  const sidecar = movedService('sidecar', keepsImage);
  const moved = [movedService('app'), movedService('worker'), sidecar];
  const worker = container('worker-1', { imageId: 'sha256:old-worker' });
  const before = about([container('app-1'), worker, container('sidecar-1'), container('database-1')], moved);

  it.each<[what: string, Container, isNew: boolean]>([
    ['the app from before', container('app-1'), false],
    ['the app of the new image', made('app-1'), true],
    ['the app of the old image, made again', made('app-1', { imageId: 'sha256:old' }), false],
    ['one app more', made('app-2'), true],
    ['a worker of the old image of the app', made('worker-1', { imageId: 'sha256:old' }), true],
    ['a follower that keeps its image', made('sidecar-1', { imageId: 'sha256:old' }), false],
    ['a container from before of a new image', container('app-1', { imageId: 'sha256:new' }), false],
  ])('isNewContainer for %s', (_, found, expected) => {
    expect(isNewContainer(before, found)).toBe(expected);
  });

  it.each<[what: string, now: readonly Container[], hasStarted: boolean]>([
    ['nothing is there', [], false],
    ['the new app was made', [made('app-1', { status: 'created', startedAt: never })], false],
    ['the new app runs', [made('app-1'), worker], true],
    ['the new app has ended', [made('app-1', { status: 'exited' })], true],
    ['the new worker runs', [container('app-1'), made('worker-1')], true],
    ['the old one was made again', [made('app-1', { imageId: 'sha256:old' })], false],
  ])('hasNewVersionStarted if %s', (_, now, expected) => {
    expect(hasNewVersionStarted(before, now)).toBe(expected);
  });
});

it('compares image contents if a tag was published again, and only ids for journals without manifests', () => {
  const content = { imageId: 'sha256:index-1', imageManifest: 'sha256:amd64' };
  const again = made('app-1', { ...content, imageId: 'sha256:index-2' });
  const image = { reference: 'acme/svc:latest', id: 'sha256:index-3', manifests: ['sha256:amd64'] };
  const app = movedService('app', { image });
  const before = about([container('app-1', content)], [app]);
  expect([isNewContainer(before, again), isServiceUpdated(before, app, [again])]).toEqual([false, true]);
  const another = { ...again, imageManifest: 'sha256:new' };
  expect([isNewContainer(before, another), isServiceUpdated(before, app, [another])]).toEqual([true, false]);
  const older = about([container('app-1', { imageId: 'sha256:index-1' })], [app]);
  expect(isNewContainer(older, again)).toBe(true);
});

describe('a service that runs once', () => {
  const migrate = movedService('migrate', { runsOnce: true });
  const old = container('migrate-1', { status: 'exited' });
  const before = about([container('app-1'), old], [migrate, movedService('app')]);

  it.each<[string, Container, boolean]>([
    ['is as it was', old, false],
    ['was made and not started', made('migrate-1', { status: 'created', startedAt: never }), false],
    ['was made and runs', made('migrate-1'), true],
    ['was made of the image from before and has ended', made('migrate-1', { imageId: old.imageId }), true],
    ['was started again', { ...old, startedAt: '2026-11-21T11:00:00Z' }, true],
  ])('decides whether an undo is still possible if it %s', (_, now, expected) => {
    expect(hasNewVersionStarted(before, [container('app-1'), now])).toBe(expected);
  });

  it.each<[string, Partial<Container>, boolean]>([
    ['has ended well', { status: 'exited', exitCode: 0 }, true],
    ['has failed', { status: 'exited', exitCode: 1 }, false],
    ['still runs', {}, false],
    ['has ended with another image', { status: 'exited', exitCode: 0, imageId: 'sha256:other' }, false],
  ])('is evaluated as done or not if the new container %s', (_, now, expected) => {
    expect(isServiceUpdated(before, migrate, [made('migrate-1', now)])).toBe(expected);
  });

  it('is not started again, even if it ran before', () => {
    expect(shouldRunContainer(migrate, { runs: true })).toBe(false);
    expect(requiredContainerIdsOf(before, [made('migrate-1'), made('app-1')])).toEqual(
      new Map([['app', ['app-1-new']]]),
    );
  });
});

describe('isAlreadyReached', () => {
  const now = (app: Partial<Container>, worker: Partial<Container> = {}): Container[] => [
    made('app-1', app),
    made('worker-1', worker),
    container('database-1'),
  ];
  it.each<[what: string, now: readonly Container[], is: boolean]>([
    ['all are of it', now({}), true],
    ['a worker of it was never started', now({}, { status: 'created', startedAt: never }), true],
    ['the app of it was never started', now({ status: 'created', startedAt: never }), false],
    ['a worker is older', now({}, { imageId: 'sha256:old' }), false],
  ])('evaluates the containers if %s', (_, containers, is) => {
    expect(isTargetReached(about([]), containers)).toBe(is);
  });
});

describe('shouldRunContainer', () => {
  it.each([
    ['app', true, true],
    ['app', false, true],
    ['worker', true, true],
    ['worker', false, false],
  ])('decides for the service %s, which ran before: %j', (name, runs, expected) => {
    expect(shouldRunContainer(movedService(name), { runs })).toBe(expected);
  });
});

describe('isDone', () => {
  const [app, worker] = [movedService('app'), movedService('worker')];
  const sidecar = movedService('sidecar', keepsImage);
  const unnamed = made('app-1', { name: '0123456789ab_svc-app-1' });
  const sameImage = container('app-1', { imageId: 'sha256:new' });

  it.each<[situation: string, UpdatedService, before: string, now: string | Container, isDone: boolean]>([
    ['the old one runs', app, 'app-1', 'app-1', false],
    ['the new one runs', app, 'app-1', 'app-1+', true],
    ['the new one was never started', app, 'app-1', 'app-1+_', false],
    ['the new one has no name yet', app, 'app-1', unnamed, false],
    ['the old one is of the new image', app, 'app-1', sameImage, false],
    ['it is gone', app, 'app-1', '', false],
    ['the old one is there, too', app, 'app-1', 'app-1 app-1+', false],
    ['the new one has another number', app, 'app-1', 'app-2+', false],
    ['it was stopped, and runs', app, 'app-1!', 'app-1+', true],

    ['all replicas are new', worker, 'worker-1 worker-2!', 'worker-1+ worker-2+_', true],
    ['a stopped replica was stopped again', worker, 'worker-1 worker-2!', 'worker-1+ worker-2+!', true],
    ['a stopped replica runs', worker, 'worker-1 worker-2!', 'worker-1+ worker-2+', false],
    ['a replica is old', worker, 'worker-1 worker-2!', 'worker-1+ worker-2!', false],
    ['a replica is missing', worker, 'worker-1 worker-2!', 'worker-1+', false],
    ['a replica was never started', worker, 'worker-1 worker-2!', 'worker-1+_ worker-2+_', false],

    ['a follower is old', sidecar, 'sidecar-1', 'sidecar-1', false],
    ['a follower is new', sidecar, 'sidecar-1', made('sidecar-1', { imageId: 'sha256:old' }), true],
    ['a follower is new, and stays stopped', sidecar, 'sidecar-1!', 'sidecar-1+_', true],
  ])('evaluates the containers of a service if %s', (_, moved, before, now, expected) => {
    const found = typeof now === 'string' ? containers(now) : [now];
    expect(isServiceUpdated(about(containers(before), [moved]), moved, found)).toBe(expected);
  });
});

describe('requiredContainerIdsOf', () => {
  it.each<[situation: string, before: string, now: string, ids: Record<string, string[]>]>([
    ['all ran', 'app-1 worker-1', 'app-1+ worker-1+', { app: ['app-1+'], worker: ['worker-1+'] }],
    ['the worker was stopped', 'app-1 worker-1!', 'app-1+ worker-1+', { app: ['app-1+'] }],
    ['the app was stopped: it is started', 'app-1!', 'app-1+', { app: ['app-1+'] }],
    ['one replica was stopped', 'worker-1 worker-2!', 'worker-1+ worker-2+!', { worker: ['worker-1+'] }],
    ['a replica was added', 'worker-1', 'worker-1+ worker-2+', { worker: ['worker-1+', 'worker-2+'] }],
    ['one was added to a stopped one', 'worker-1!', 'worker-1+! worker-2+', { worker: ['worker-2+'] }],
    ['all are gone', 'app-1 worker-1', '', {}],
  ])('returns the containers that must run if %s', (_, before, now, ids) => {
    expect(Object.fromEntries(requiredContainerIdsOf(about(containers(before)), containers(now)))).toEqual(
      ids,
    );
  });
});
