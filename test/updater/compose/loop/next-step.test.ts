import { describe, expect, it } from 'vitest';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import type { Container } from '../../../../src/engine/objects/container.ts';
import {
  type ComposeRunView,
  type ComposeStep,
  planNextStep,
  stepNameOf,
  type UnjournaledRunState,
} from '../../../../src/updater/compose/loop/next-step.ts';
import type { RunGoal } from '../../../../src/updater/run/run-steps.ts';
import type { JournalData } from '../../../../src/updater/run/state/journal.ts';
import {
  blueprint,
  changeover,
  containers,
  ending,
  journalData,
  movedService,
  record,
} from '../../../build.ts';

const old = containers('app-1 worker-1');
const planned = changeover({ containers: old.map((each) => record(each)) });
const failed = ending('failed');
const point: NonNullable<JournalData['point']> = {
  ...{ directory: '/opt/svc/.svc-updater/restore/20261126T104215Z', state: 'saved' },
  ...{ services: ['db'], inMemory: [], riders: [], ports: [], policies: [] },
};

interface Given {
  data?: Partial<JournalData>;
  now?: readonly Container[];
  known?: Partial<UnjournaledRunState>;
}

function view({ data, now = old, known }: Given): ComposeRunView {
  return {
    data: journalData({ changeover: planned, ...data }),
    now: { containers: now, leftovers: [] },
    known: {
      ...{
        done: new Set(),
        skippedSteps: new Set(),
        preparedChanges: 'nothing',
        idsBeforeRestore: new Set(),
      },
      ...{ successors: new Map(), rebuilt: new Set(), failures: new Map(), ...known },
    },
  };
}

/** All steps in order, if each step succeeds and nothing else happens. */
function story(
  goal: RunGoal,
  given: Given,
  after: (step: ComposeStep, given: Given) => void = () => {},
): string[] {
  const names: string[] = [];
  const done = new Set(given.known?.done);
  const at: Given = { ...given, known: { ...given.known, done } };
  for (let count = 0; count < 40; count++) {
    const step = planNextStep(view(at), goal);
    if (step.kind === 'done') return names;
    if (step.kind === 'blocked') return [...names, `blocked: ${(step.error as UpdateError).message}`];
    names.push(stepNameOf(step));
    done.add(stepNameOf(step));
    after(step, at);
  }
  throw new Error(`no end: ${names.join(', ')}`);
}

const replacing = { state: { at: 'replacing' } } as const;
const rollingBack = { state: { at: 'rolling-back', from: 'replacing', ending: failed } } as const;
const restoring = { state: { at: 'restoring', ending: failed }, point } as const;
const toTheEnd = ['await-old', 'compare', 'end-restore-point'];

describe('an update', () => {
  it('pulls first, and then stops if nothing has changed', () => {
    expect(story('update', {})[0]).toBe('pull');
    expect(story('update', { known: { done: new Set(['pull']), preparedChanges: 'no change' } })).toEqual([]);
  });

  it.each<[UnjournaledRunState['preparedChanges'], string[]]>([
    ['changes', ['pull', 'record-containers', 'write']],
    ['changes, with data to save', ['pull', 'copy-warm', 'record-containers', 'copy-cold', 'write']],
  ])('continues from its journal if the pull finds %s', (found, before) => {
    const steps = story(
      'update',
      { data: { changeover: null }, known: { preparedChanges: found } },
      (step, at) => {
        if (step.kind === 'copy-warm') at.data = { ...at.data, state: { at: 'saving' } };
        if (step.kind === 'write') at.data = replacing;
      },
    );
    expect(steps).toEqual([...before, 'announce', 'stop worker', 'up app', 'up worker', 'verify']);
  });

  it('continues with the remaining steps of a killed run', () => {
    const now = containers('app-1+ worker-1!');
    expect(story('update', { data: replacing, now })).toEqual(['announce', 'up worker', 'verify']);
    expect(
      story('update', { data: { state: { at: 'verifying' } }, now: containers('app-1+ worker-1+') }),
    ).toEqual(['announce', 'verify']);
  });

  it('does not continue from a rollback', () => {
    for (const data of [rollingBack, restoring])
      expect(story('update', { data })).toEqual([expect.stringContaining('blocked: an update cannot go on')]);
  });
});

describe('a rollback', () => {
  it('restores files and tags, then the containers', () => {
    const now = containers('app-1 worker-1!');
    const steps = ['restore-files', 'start-data-services', 'end-stops', 'start worker-1', ...toTheEnd];
    expect(story('rollback', { data: rollingBack, now })).toEqual(steps);
  });

  it('restores the data first, and only once', () => {
    const restored: Given = { data: restoring };
    const steps = story('rollback', restored, (step, at) => {
      if (step.kind === 'restore-data') at.data = { ...restoring, point: { ...point, state: 'restored' } };
    });
    expect(steps).toEqual([
      ...['restore-data', 'restore-files', 'start-data-services', 'end-stops', ...toTheEnd],
    ]);
  });

  it('restores everything again if the new version was started on the restored data', () => {
    const data = { ...restoring, point: { ...point, state: 'restored' } } as const;
    const now = containers('app-1+ worker-1!');
    const next = (done: string[]) =>
      planNextStep(view({ data, now, known: { done: new Set(done) } }), 'rollback');
    expect(next([])).toEqual({ kind: 'restore-files' });
    // The restore starts again after any later step.
    expect(next(['restore-files'])).toEqual({ kind: 'restore-again' });
    expect(next(['restore-files', 'start-data-services', 'end-stops'])).toEqual({ kind: 'restore-again' });
  });

  it('starts no old container if another version was started before the replacement began', () => {
    for (const data of [{ started: true }, {}])
      expect(
        story('rollback', {
          data: { state: { at: 'rolling-back', from: 'saving', ending: null }, ...data },
          now: 'started' in data ? old : containers('app-1+ worker-1'),
        }),
      ).toEqual(['restore-files', 'start-data-services', 'leave-new-version', 'end-restore-point']);
  });

  it('does not change the other version, even after its containers were removed', () => {
    const data = { state: { at: 'rolling-back', from: 'saving', ending: null } } as const;
    const done = new Set(['restore-files', 'start-data-services', 'leave-new-version']);
    expect(story('rollback', { data, known: { done } })).toEqual(['end-restore-point']);
  });

  it('changes no container after it has finished', () => {
    const data = { ...rollingBack, blueprints: old.map(({ id }) => blueprint(id)) };
    const done = new Set(['restore-files', 'start-data-services', 'end-stops', 'end-restore-point']);
    for (const now of [[], containers('app-1+ worker-1+')])
      expect(story('rollback', { data, now, known: { done } })).toEqual([]);
  });

  it('omits the steps that a run does not need', () => {
    const without = new Set(['restore-files', 'end-restore-point'] as const);
    const now = containers('app-1 worker-1!');
    const steps = ['start-data-services', 'end-stops', 'start worker-1', 'await-old', 'compare'];
    expect(story('rollback', { data: rollingBack, now, known: { skippedSteps: without } })).toEqual(steps);
  });

  it('restores no containers if the journal lists none', () => {
    const data = { state: { at: 'rolling-back', from: 'pulling', ending: null }, changeover: null } as const;
    expect(story('rollback', { data })).toEqual(['restore-files', 'end-restore-point']);
  });

  it('starts the other services even if one service cannot be started', () => {
    const failures = new Map([['app', new UpdateError('engine-unavailable', 'app does not start')]]);
    const now = containers('app-1! worker-1!');
    expect(story('rollback', { data: rollingBack, now, known: { failures } })).toEqual([
      ...['restore-files', 'start-data-services', 'end-stops', 'start worker-1'],
      'blocked: app does not start',
    ]);
  });

  it('recreates a container that another process removes during the rollback', () => {
    const failures = new Map([['worker', new UpdateError('engine-unavailable', 'no such container')]]);
    const known = { failures, idsBeforeRestore: new Set(['app-1', 'worker-1']) };
    const data = { ...rollingBack, blueprints: old.map(({ id }) => blueprint(id)) };
    const done = new Set(['restore-files', 'start-data-services', 'end-stops']);
    const next = planNextStep(
      view({ data, now: containers('app-1'), known: { ...known, done } }),
      'rollback',
    );
    expect(next).toMatchObject({ kind: 'restore-removed', names: ['svc-worker-1'] });
  });

  it('reports the data as restored if only the containers could not be started', () => {
    const failures = new Map([['app', new UpdateError('engine-unavailable', 'app does not start')]]);
    const data = { ...restoring, point: { ...point, state: 'restored' } } as const;
    const done = new Set(['restore-files', 'start-data-services', 'end-stops']);
    expect(
      planNextStep(view({ data, now: containers('app-1! worker-1'), known: { failures, done } }), 'rollback'),
    ).toMatchObject({
      kind: 'blocked',
      error: {
        code: 'containers-not-restored',
        state: 'the data and files of v1.0.0 have been restored, but v1.0.0 could not be started',
      },
    });
  });
});

it('gives steps for different containers different names', () => {
  const moved = [movedService('app'), movedService('worker')];
  const [app, worker] = moved.map(({ name }) => name);
  expect(stepNameOf({ kind: 'await-healthy', service: app ?? '', dependent: worker ?? '' })).toBe(
    'await-healthy app worker',
  );
  expect(stepNameOf({ kind: 'remove-leftovers', containers: old })).toBe('remove-leftovers app-1 worker-1');
});
