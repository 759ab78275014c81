import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../../src/core/progress/outcome.ts';
import type { Json } from '../../../../src/engine/objects/json.ts';
import type { UnfinishedState } from '../../../../src/updater/run/state/run-state.ts';
import { planServiceUpdates } from '../../../../src/updater/swarm/plan/plan-service-updates.ts';
import { planStackUpdate } from '../../../../src/updater/swarm/plan/plan-stack.ts';
import { planStackRecovery } from '../../../../src/updater/swarm/record/plan-stack-recovery.ts';
import {
  type FoundStackRecord,
  stackRollbackState,
} from '../../../../src/updater/swarm/record/stack-record.ts';
import { buildServiceSpec, type StackServiceUpdate } from '../../../../src/updater/swarm/services/specs.ts';
import { ending } from '../../../build.ts';
import { engineWith, runContext, target as targetOf, updateOptions } from '../../../build-plan.ts';
import { moveOf, serviceWith, specWith } from '../../../build-stack.ts';

const plain = [moveOf('app'), moveOf('worker')];
/** The previous run found a worker that the run before it had stopped. */
const carried = [
  moveOf('app'),
  moveOf('worker', {
    before: specWith({ name: 'svc_worker', replicas: 0 }),
    wanted: specWith({ name: 'svc_worker' }),
  }),
];

const states = {
  pull: { at: 'pulling' },
  write: { at: 'writing' },
  recreate: { at: 'replacing' },
  back: stackRollbackState,
  restore: { at: 'restoring', ending: null },
} as const satisfies Record<string, UnfinishedState>;

interface Given {
  outcome?: Outcome;
  phase?: keyof typeof states;
  started?: boolean;
  holder?: string;
  target?: string | null;
  moves?: readonly StackServiceUpdate[];
  /** The current spec of the app. */
  app?: Json;
  gone?: boolean;
}

function earlier({
  outcome,
  phase = 'recreate',
  started = false,
  holder = 'another',
  moves = plain,
}: Given): FoundStackRecord {
  const open = states[phase];
  const left = outcome === 'broken' || outcome === 'crashed' ? open : null;
  return {
    config: { id: 'config', name: 'svc-updater.svc', version: 1, labels: {}, data: '' },
    labels: {
      ...{ run: '20261125T100000Z', holder, container: 'c', node: 'n1', started, beat: 1 },
      state: outcome === undefined ? open : { at: 'ended', ending: ending(outcome), left },
    },
    data: {
      ...{ format: 2, run: '20261125T100000Z', stack: 'svc', target: 'v1.5.0', from: 'v1.4.2', to: 'v1.5.0' },
      ...{ stopFirst: false, moves, tasks: [], files: [] },
    },
  };
}

const stepAfter = (given: Given) => {
  const { target = 'v1.5.0', app = specWith(), gone = false, moves = plain } = given;
  const services = [
    serviceWith(app),
    ...(gone ? [] : moves.slice(1).map(({ before }) => serviceWith(before))),
  ];
  return planStackRecovery(
    earlier(given),
    { holder: 'this', services },
    { ...updateOptions(), target: targetOf(target) },
  );
};

const words = (given: Given): string => {
  const step = stepAfter(given);
  return step.kind === 'files-back' && step.inherits === 'halfway' ? 'files-back, halfway' : step.kind;
};

const edited = specWith({ labels: { tier: 'web' } });
const moving = buildServiceSpec(moveOf('app'), 'moving', {
  replicas: 2,
  forced: 0,
  held: 0,
  nodesWithout: [],
});

describe('planStackRecovery', () => {
  it('does nothing if there was no previous run', () => {
    expect(planStackRecovery(null, { holder: 'this', services: [] }, updateOptions())).toEqual({
      kind: 'none',
    });
  });

  it.each<[situation: string, given: Given, step: string]>([
    ['it updated', { outcome: 'updated', phase: 'recreate' }, 'none'],
    ['it failed, all is back', { outcome: 'failed', phase: 'back' }, 'none'],
    [
      'it failed, and had found a stopped worker',
      { outcome: 'failed', phase: 'back', moves: carried },
      'succeed',
    ],
    [
      'the same, and somebody has edited the app since',
      { outcome: 'failed', phase: 'back', moves: carried, app: edited },
      'set-aside',
    ],
    ['it is its own', { outcome: 'updated', holder: 'this' }, 'repeat'],
    ['its own, and it broke', { outcome: 'broken', holder: 'this', started: true }, 'repeat'],
    ['its own, killed', { holder: 'this' }, 'go-on'],
    ['killed in pull', { phase: 'pull' }, 'files-back'],
    ['killed in write', { phase: 'write' }, 'files-back'],
    [
      'killed in write, by what it had found stopped',
      { phase: 'write', moves: carried },
      'files-back, halfway',
    ],
    ['killed in recreate', { phase: 'recreate' }, 'go-on'],
    ['killed after the new one has started', { phase: 'recreate', started: true, app: moving }, 'go-on'],
    ['broken', { phase: 'recreate', started: true, outcome: 'broken', app: moving }, 'go-on'],
    ['killed while it went back', { phase: 'back' }, 'back'],
    ['the way back came too late', { phase: 'back', started: true, app: moving }, 'go-on'],
    ['another target, none has started', { target: 'v1.6.0' }, 'back'],
    ['another target, one has started', { target: 'v1.6.0', started: true, app: moving }, 'succeed'],
    ['somebody has edited the app', { app: edited }, 'set-aside'],
    [
      'somebody has put another version over it',
      { app: specWith({ image: 'acme/svc:v1.6.0@sha256:f' }), started: true },
      'set-aside',
    ],
    ['somebody has rolled it back', { app: specWith(), started: true }, 'go-on'],
    ['a service of it is gone', { gone: true }, 'set-aside'],
    ['its files are back whatever somebody has edited', { phase: 'write', app: edited }, 'files-back'],
  ])('plans the next step: %s', (_, given, step) => expect(words(given)).toBe(step));
});

describe('a run that is taken over by a later run', () => {
  it.each<[situation: string, given: Given, state: UnfinishedState]>([
    ['after a kill', {}, { at: 'replacing' }],
    ['also from its way back, which came too late', { phase: 'restore', started: true }, { at: 'replacing' }],
    ['to be undone', { target: 'v1.6.0' }, stackRollbackState],
    ['while it was undone', { phase: 'back' }, stackRollbackState],
    ['when no new task was left', { phase: 'restore' }, states.restore],
  ])('%s continues from its state', (_, given, state) => expect(stepAfter(given)).toMatchObject({ state }));
});

describe('planStack', () => {
  const refusal = async (given: Given, id = 'app-id'): Promise<string> => {
    const chosen = { name: 'svc', app: serviceWith(specWith(), { id }), workers: [], services: [] };
    const { context } = runContext(await engineWith({}));
    const found = { context, chosen, tasks: [], nodes: [], directory: null };
    const plan = planServiceUpdates(chosen, [], { ...context.options, target: targetOf('v1.6.0') });
    return planStackUpdate(found, earlier(given), { plan, inherits: 'nothing' }).then(
      () => 'planned',
      ({ code, message }) => `${code}: ${message}`,
    );
  };
  const cameUp =
    'downgrade: v1.5.0 was installed, but v1.4.2 is running again: an old stack file was deployed';

  it.each<[situation: string, refused: boolean, ...Parameters<typeof refusal>]>([
    ['after an update', true, { outcome: 'updated' }],
    ['after one that had started and was killed', true, { started: true }],
    ['where the newer one never started', false, { outcome: 'failed' }],
    ['in a stack that was deployed anew', false, { outcome: 'updated' }, 'another-id'],
  ])('rejects an old version that is running again %s: %s', async (_, refused, ...given) => {
    expect((await refusal(...given)) === cameUp).toBe(refused);
  });
});
