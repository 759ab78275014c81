import { describe, expect, it } from 'vitest';
import {
  planStackRollbackStep,
  planStackUpdateStep,
  type ServiceView,
  type StackStep,
  type StackView,
  swarmWrites,
} from '../../../../src/updater/swarm/rollout/plan-stack-step.ts';
import type { SpecForm } from '../../../../src/updater/swarm/services/specs.ts';
import type { TaskSummary } from '../../../../src/updater/swarm/services/tasks.ts';
import { moveOf, newImage, oldImage, specWith, summaryWith, tasksOf } from '../../../build-stack.ts';

const two = tasksOf('old running n1', 'old running n2');
const fresh = tasksOf('new running n1', 'new running n2');

/** Summaries of the tasks of a service, by keyword. */
const looks: Record<string, Partial<TaskSummary>> = {
  old: { oldAlive: two, oldRunning: two, isRestored: true },
  ending: { oldAlive: two },
  none: {},
  off: { requiredCount: 0, isHealthy: true, isRestored: true },
  comes: { newAlive: fresh },
  // A task is being started: its outcome is not known yet.
  starting: { newAlive: fresh, isStartUncertain: true },
  started: { newAlive: fresh, hasStarted: true },
  well: { newAlive: fresh, newRunning: fresh, hasStarted: true, steadyMs: 5_000, isHealthy: true },
  half: {
    ...{ oldAlive: two.slice(1), newAlive: fresh.slice(0, 1), newRunning: fresh.slice(0, 1) },
    ...{ hasStarted: true, steadyMs: 5_000 },
  },
  'just half': {
    ...{ oldAlive: two.slice(1), newAlive: fresh.slice(0, 1), newRunning: fresh.slice(0, 1) },
    ...{ hasStarted: true, steadyMs: 4_999 },
  },
  stuck: {
    ...{ oldAlive: two.slice(1), newAlive: fresh.slice(0, 1), newRunning: fresh.slice(0, 1) },
    ...{ hasStarted: true, steadyMs: 5_000, isStuck: true },
  },
  'just stuck': { oldAlive: two, hasStarted: true, steadyMs: 4_999, isStuck: true },
  'stuck, coming': { oldAlive: two, newAlive: tasksOf('new starting'), steadyMs: 5_000, isStuck: true },
  'stuck, pending': {
    ...{ oldAlive: two, newAlive: tasksOf('new pending -'), steadyMs: 5_000, isStuck: true },
  },
  'stuck, without old ones': { newAlive: fresh, newRunning: fresh, steadyMs: 5_000, isStuck: true },
  succeeded: { hasStarted: true, isHealthy: true },
  'held, coming': { oldAlive: two.slice(1), oldRunning: two.slice(1), newAlive: fresh.slice(0, 1) },
  'held, clear': { oldAlive: two.slice(1), oldRunning: two.slice(1) },
};

/**
 * Parses a service: side and forms of its spec, keyword of its tasks, flags. Examples: `old before | old`,
 * `new moving | well`, `null | started`, `old stopped | none | isPaused`.
 */
function view(name: string, words: string): ServiceView {
  const [spec = '', look = 'none', flags = ''] = words.split('|').map((each) => each.trim());
  const [side = '', ...forms] = spec.split(' ');
  const is = (flag: string) => flags.split(' ').includes(flag);
  return {
    move: moveOf(name, is('once') ? { role: 'once' } : {}),
    side: side === 'null' ? null : side === 'new' ? 'new' : 'old',
    image: side === 'new' ? newImage : oldImage,
    isStopped: forms.includes('stopped') || is('isStopped'),
    forms: new Set(forms.filter((form): form is SpecForm => form !== 'other')),
    isPreviousSpecNew: is('isSettled'),
    isPaused: is('isPaused'),
    isScaledToZero: is('isOff'),
    tasks: summaryWith(looks[look] ?? {}),
  };
}

interface Given {
  app: string;
  worker?: string | undefined;
  second?: string;
  stopFirst?: boolean;
  hasBeenWell?: boolean;
}

const stack = ({ app, worker, second, stopFirst = false, hasBeenWell = false }: Given): StackView => ({
  app: view('app', app),
  workers: [
    ...(worker === undefined ? [] : [view('worker', worker)]),
    ...(second === undefined ? [] : [view('second', second)]),
  ],
  stopFirst,
  hasBeenHealthy: hasBeenWell,
});

function words(step: StackStep): string {
  switch (step.kind) {
    case 'write':
      return `${step.write} ${step.service.move.name}`;
    case 'wait':
      return `wait until ${step.service.move.name} ${step.what}`;
    case 'foreign':
      return `foreign ${step.service.move.name}`;
    default:
      return step.kind;
  }
}

const forward = (given: Given): string => words(planStackUpdateStep(stack(given)));
const back = (given: Given): string => words(planStackRollbackStep(stack(given)));

const quiet = 'old before | old';
const stopped = 'old stopped | none';
const coming = 'new moving | comes';
const started = 'new moving | started';
const settled = 'new after | well | isSettled';
const well = 'new moving | well';
const scaledToZero = 'new moving | off | isStopped isOff';

describe('nextUpdateWrite', () => {
  it.each<[situation: string, app: string, worker: string | undefined, step: string]>([
    ['the worker is stopped first', quiet, quiet, 'stop-worker svc_worker'],
    ['until none is alive', quiet, 'old stopped | ending', 'wait until svc_worker ends'],
    ['the app moves then', quiet, stopped, 'move-app svc_app'],
    ['its tasks are waited for', coming, stopped, 'wait until svc_app starts'],
  ])('returns the next step of an update: %s', (_, app, worker, step) =>
    expect(forward({ app, worker })).toBe(step),
  );

  it.each<[situation: string, app: string, worker: string | undefined, step: string]>([
    ['the worker moves when the app is well', well, stopped, 'move-worker svc_worker'],
    ['the app is settled first', well, well, 'settle svc_app'],
    ['also where the write changes nothing', 'new moving after | well', undefined, 'settle svc_app'],
    ['then all is done', settled, settled, 'done'],
    ['a worker that its owner has scaled to 0 is settled', settled, scaledToZero, 'settle svc_worker'],
    ['somebody rolls the app back: it moves again', quiet, stopped, 'move-app svc_app'],
    ['somebody rolls the worker back: it is stopped before all else', well, quiet, 'stop-worker svc_worker'],
  ])('returns the next step after the app has been healthy: %s', (_, app, worker, step) =>
    expect(forward({ app, worker, hasBeenWell: true })).toBe(step),
  );

  it.each<[situation: string, app: string, worker: string, step: string]>([
    ['the app is stopped after the worker', quiet, quiet, 'stop-worker svc_worker'],
    ['the app is stopped', quiet, stopped, 'stop-first svc_app'],
    ['until none is alive', 'old stopped | ending', stopped, 'wait until svc_app ends'],
    ['then it moves', stopped, stopped, 'move-app svc_app'],
    ['a migration runs after it is stopped', stopped, 'old before | none | once', 'move-worker svc_worker'],
  ])('with --stop-first: %s', (_, app, worker, step) =>
    expect(forward({ app, worker, stopFirst: true })).toBe(step),
  );

  const endingAtZero = 'old before | ending | isStopped isOff';
  it.each<[situation: string, app: string, worker: string, step: string]>([
    ['a worker scaled to 0 ends: it is waited for', quiet, endingAtZero, 'wait until svc_worker ends'],
    // Deploying the new file early requests a rollback.
    ['the new file is deployed early', 'new after | comes', stopped, 'move-app svc_app'],
    ['the stopped worker is scaled up: it is stopped again', started, quiet, 'stop-worker svc_worker'],
    ['more than that is changed in the app', 'null | old', quiet, 'foreign svc_app'],
  ])('reacts to another user: %s', (_, app, worker, step) => expect(forward({ app, worker })).toBe(step));

  it.each<[situation: string, app: string, worker: string, step: string]>([
    // A new task has run for 5 s: Swarm is told again.
    ['a paused update', 'new moving | half | isPaused', stopped, 'move-app svc_app'],
    ['the worker is new, the app was not seen well yet', started, well, 'stop-worker svc_worker'],
    ['killed while holding', 'old held | held, clear', stopped, 'move-app svc_app'],
  ])('resumes a run: %s', (_, app, worker, step) => expect(forward({ app, worker })).toBe(step));

  it.each<[situation: string, worker: string, service: string, step: string]>([
    ['runs after the workers are stopped', quiet, 'old before | none', 'stop-worker svc_worker'],
    ['runs before the app', stopped, 'old before | none', 'move-worker svc_second'],
    ['is waited for', stopped, 'new moving | started', 'wait until svc_second starts'],
    ['is never stopped', stopped, 'new moving | comes', 'wait until svc_second starts'],
    ['has succeeded', stopped, 'new moving | succeeded', 'move-app svc_app'],
  ])('a service that runs once %s', (_, worker, service, step) =>
    expect(forward({ app: quiet, worker, second: `${service} | once` })).toBe(step),
  );

  it.each<[situation: string, look: string, step: string]>([
    ['is no longer waited for', 'new moving | stuck', 'nudge svc_app'],
    ['is given 5 s', 'new moving | just stuck', 'wait until svc_app starts'],
    ['may have a successor soon', 'new moving | stuck, coming', 'wait until svc_app starts'],
    ['blocks no other task', 'new moving | stuck, without old ones', 'wait until svc_app starts'],
    ['is passed, and the update goes on', 'new nudged | half', 'wait until svc_app starts'],
    ['may be the second one', 'new nudged | stuck', 'move-app svc_app'],
    ['has a successor without a node', 'new moving | stuck, pending', 'nudge svc_app'],
  ])('a new task on a node that went down %s', (_, app, step) =>
    expect(forward({ app, worker: stopped })).toBe(step),
  );

  it('reports its progress', () => {
    const progress = (given: Given) => {
      const step = planStackUpdateStep(stack(given));
      return step.kind === 'wait' ? step.progress : null;
    };
    expect(progress({ app: quiet, worker: 'old stopped | ending' })).toBe(-2);
    expect(progress({ app: coming })).toBe(0);
    expect(progress({ app: 'new moving | half' })).toBe(1);
  });
});

describe('nextRollbackWrite', () => {
  it.each<[situation: string, app: string, worker: string, step: string]>([
    ['the app is held first', coming, stopped, 'hold svc_app'],
    ['new tasks are waited for', 'old held | held, coming', stopped, 'wait until svc_app ends'],
    ['then the app is as before', 'old held | held, clear', stopped, 'restore svc_app'],
    ['then the worker', 'old before | held, clear', stopped, 'restore svc_worker'],
    ['the app is waited for', 'old before | held, clear', 'old before | none', 'wait until svc_app returns'],
    ['then it is done', quiet, quiet, 'done'],
    ['one that was stopped comes back', stopped, stopped, 'restore svc_app'],
    // Whether it was about to start is known when it ends.
    ['a new task that may be about to start is held', 'new moving | starting', stopped, 'hold svc_app'],
    ['nothing is restored after a new task has started', started, stopped, 'started'],
    ["nor if somebody's task has started", 'null | started', stopped, 'started'],
  ])('returns the next step of a rollback: %s', (_, app, worker, step) =>
    expect(back({ app, worker })).toBe(step),
  );

  it('does not restore a worker that another user has edited', () => {
    expect(back({ app: quiet, worker: 'null | none' })).toBe('done');
  });
});

describe('every possible view', () => {
  const olds = ['old before', 'old stopped', 'old held', 'old other'];
  const sides = [...olds, 'new moving', 'new after', 'new other', 'null'];
  const flags = ['', 'isSettled', 'isPaused', 'isOff isStopped'];
  const services = sides.flatMap((side) =>
    Object.keys(looks).flatMap((look) => flags.map((flag) => `${side} | ${look} | ${flag}`)),
  );
  const workers = [quiet, stopped, 'old stopped | ending', well, settled, 'null | none'];
  const all: StackView[] = services.flatMap((app) =>
    workers.flatMap((worker) =>
      [false, true].map((hasBeenWell) => stack({ app, worker, hasBeenWell, stopFirst: app.length % 2 > 0 })),
    ),
  );
  type Writing = Extract<StackStep, { kind: 'write' }>;
  const writes = (step: StackStep, write: Writing['write']): step is Writing =>
    step.kind === 'write' && step.write === write;
  /** The views that violate the rule. */
  const wrong = (
    next: (view: StackView) => StackStep,
    holds: (view: StackView, step: StackStep) => boolean,
  ) => all.filter((each) => !holds(each, next(each))).map((each) => [words(next(each)), each]);

  it.each<[string, (view: StackView, step: StackStep) => boolean]>([
    [
      'writes only from a side that the write is of',
      (_, step) =>
        step.kind !== 'write' ||
        (swarmWrites[step.write].from as readonly unknown[]).includes(step.service.side),
    ],
    ['never writes what leads back', (_, step) => !writes(step, 'hold') && !writes(step, 'restore')],
    [
      'moves the app only beside no old worker',
      ({ workers }, step) =>
        !writes(step, 'move-app') || workers.every(({ tasks }) => tasks.oldAlive.length === 0),
    ],
    [
      'moves a worker only beside an app that is well',
      ({ app }, step) => !writes(step, 'move-worker') || (app.side === 'new' && app.tasks.isHealthy),
    ],
    ['settles only what is well', (_, step) => !writes(step, 'settle') || step.service.tasks.isHealthy],
    [
      'is done only when all are new, settled and well',
      ({ app, workers }, step) =>
        step.kind !== 'done' ||
        [app, ...workers].every(
          ({ forms, isPreviousSpecNew: isSettled, tasks }) =>
            forms.has('after') && isSettled && tasks.isHealthy,
        ),
    ],
  ])('nextUpdateWrite %s', (_, holds) => expect(wrong(planStackUpdateStep, holds)).toEqual([]));

  it.each<[string, (view: StackView, step: StackStep) => boolean]>([
    [
      'writes nothing once a new task has started',
      ({ app }, step) => step.kind !== 'write' || !app.tasks.hasStarted,
    ],
    [
      'restores the app only when no new task is alive',
      ({ app }, step) => !writes(step, 'restore') || step.service !== app || app.tasks.newAlive.length === 0,
    ],
    ['never moves anything', (_, step) => step.kind !== 'write' || !step.write.startsWith('move')],
    [
      'is done only where no new task of the app is alive, if the app is its own',
      ({ app }, step) => step.kind !== 'done' || app.side === null || app.tasks.newAlive.length === 0,
    ],
  ])('nextRollbackWrite %s', (_, holds) => expect(wrong(planStackRollbackStep, holds)).toEqual([]));
});

describe('a wrong write', () => {
  it.each(['null | comes', 'null | held, coming'])(
    'does not restore an old worker beside new tasks of an app that another user has edited: %s',
    (app) => {
      expect(back({ app, worker: stopped })).not.toBe('restore svc_worker');
    },
  );

  it('does not leave an app limited that had the new image before, but restores it', () => {
    const given = stack({ app: 'new held | none', worker: stopped });
    const app = { ...given.app, move: moveOf('app', { before: specWith({ image: newImage }) }) };
    expect(planStackRollbackStep({ ...given, app })).toMatchObject({ kind: 'write', write: 'restore' });
  });
});
