import { expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { listRestoreSteps } from '../../../../src/updater/compose/rollback/list-restore-steps.ts';
import type { ContainerRecord, UpdatedService } from '../../../../src/updater/run/state/rollout.ts';
import { blueprint, changeover, container, movedService, record } from '../../../build.ts';

const inside = (place: string, changes: Partial<Container> = {}): Container =>
  container(place, { networks: ['svc_internal'], ...changes });
const fresh = (place: string): Container => inside(place, { id: `${place}-new`, imageId: 'sha256:new' });
const down = (place: string, changes: Partial<Container> = {}) =>
  inside(place, { status: 'exited', ...changes });

interface Case {
  moved?: UpdatedService[];
  before?: ContainerRecord[];
  now: Container[];
  /** Ids of containers without a snapshot. */
  unknown?: string[];
  /** Ids of containers that this process has already recreated or started. */
  rebuilt?: string[];
  started?: string[];
}

/** The steps, separated by commas. */
function steps({ moved, before, now, unknown = [], rebuilt = [], started = [] }: Case): string {
  const containers = before ?? [record(inside('app-1')), record(inside('worker-1'))];
  const blueprints = containers
    .filter(({ id }) => !unknown.includes(id))
    .map(({ id }) => blueprint(id, { networks: { svc_internal: {} } }));
  const planned = changeover({ containers, ...(moved && { moved }) });
  const own = { rebuilt: new Set(rebuilt), started: new Set(started) };
  const plan = listRestoreSteps(planned, { containers: now, blueprints }, own);
  const list = plan.map((step) => {
    switch (step.kind) {
      case 'remove-new':
        return `remove ${step.containers.map(({ id }) => id).join(' ')}`;
      case 'await-old':
        return `await ${step.records.map(({ id }) => id).join(' ')}`;
      case 'compare':
        return `compare ${step.records.map(({ id }) => id).join(' ')}`;
      case 'connect':
        return `connect ${step.record.id} to ${step.networks.join(' ')}`;
      default:
        return `${step.kind} ${step.record.id}`;
    }
  });
  return list.join(', ');
}

const toTheEnd = 'await app-1 worker-1, compare app-1 worker-1';
/** The app and a service that shares its namespace were running before. */
const withSidecar = {
  moved: [movedService('app'), movedService('sidecar', { follows: true, image: null })],
  before: [record(inside('app-1')), record(inside('sidecar-1'))],
};
const followed = 'await app-1 sidecar-1, compare app-1 sidecar-1';

it.each<[why: string, state: Case, expected: string]>([
  ['the worker was stopped', { now: [inside('app-1'), down('worker-1')] }, `start worker-1, ${toTheEnd}`],
  [
    'the app is gone, and its successor holds the name',
    { now: [fresh('app-1'), down('worker-1')] },
    `remove app-1-new, rebuild app-1, start app-1, start worker-1, ${toTheEnd}`,
  ],
  [
    'the app was taken off its network',
    { now: [down('app-1', { networks: [] }), inside('worker-1')] },
    `connect app-1 to svc_internal, start app-1, ${toTheEnd}`,
  ],
  [
    'one that the engine has marked dead',
    { now: [down('app-1', { status: 'dead' }), inside('worker-1')] },
    `remove-orphan app-1, rebuild app-1, start app-1, ${toTheEnd}`,
  ],
  [
    'a follower that runs on where its container was only stopped: its namespace is gone',
    { ...withSidecar, now: [down('app-1'), inside('sidecar-1')] },
    `start app-1, stop-old sidecar-1, start sidecar-1, ${followed}`,
  ],
  [
    'nobody knows what the app was made of',
    { now: [down('worker-1')], unknown: ['app-1'] },
    'give-up app-1, start worker-1, await worker-1, compare worker-1',
  ],
  [
    'what is there needs no blueprint',
    { now: [down('app-1'), inside('worker-1')], unknown: ['app-1', 'worker-1'] },
    `start app-1, ${toTheEnd}`,
  ],
  [
    'one that was stopped before stays so',
    { before: [record(inside('app-1')), record(down('worker-1'))], now: [inside('app-1'), down('worker-1')] },
    'await app-1, compare app-1 worker-1',
  ],
  [
    'one that was stopped before was started',
    {
      before: [record(inside('app-1')), record(down('worker-1'))],
      now: [inside('app-1'), inside('worker-1')],
    },
    'stop-old worker-1, await app-1, compare app-1 worker-1',
  ],
  [
    'one that was unwell before is not waited for',
    { before: [record(inside('app-1'), { well: false })], now: [down('app-1')] },
    'start app-1, compare app-1',
  ],
  [
    'a follower of a container that is gone',
    { ...withSidecar, now: [inside('sidecar-1')] },
    `rebuild app-1, start app-1, remove-orphan sidecar-1, rebuild sidecar-1, start sidecar-1, ${followed}`,
  ],
  [
    'a follower that this process has made again, after its container',
    { ...withSidecar, now: [inside('app-1'), down('sidecar-1')], rebuilt: ['app-1', 'sidecar-1'] },
    `start sidecar-1, ${followed}`,
  ],
  [
    'a follower of a container that this process has made again',
    { ...withSidecar, now: [inside('app-1'), inside('sidecar-1')], rebuilt: ['app-1'] },
    `remove-orphan sidecar-1, rebuild sidecar-1, start sidecar-1, ${followed}`,
  ],
  [
    'a follower that this process has started, after its container',
    { ...withSidecar, now: [inside('app-1'), inside('sidecar-1')], started: ['app-1', 'sidecar-1'] },
    followed,
  ],
  [
    'a follower of a container that this process has started',
    { ...withSidecar, now: [inside('app-1'), inside('sidecar-1')], started: ['app-1'] },
    `stop-old sidecar-1, start sidecar-1, ${followed}`,
  ],
])('lists the restore steps: %s', (_, state, expected) => {
  expect(steps(state)).toBe(expected);
});
