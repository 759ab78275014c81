import { beforeEach, describe, expect, it, vi } from 'vitest';
import { UpdateError } from '../../../src/core/errors/update-error.ts';
import { Log } from '../../../src/updater/run/log/run-log.ts';
import {
  type DrivenRun,
  type NextStep,
  RetryableError,
  retryUntilDone,
  rollBack,
  runSteps,
  updateOrRollBack,
} from '../../../src/updater/run/run-steps.ts';
import { engine } from '../../build.ts';

const lines: string[] = [];
const log = new Log(({ message }) => void lines.push(message));
const failure = new UpdateError('recreate-failed', 'compose failed');
let stop = new AbortController();

interface Step {
  kind: string;
}
type Acts = Record<string, () => void>;

/** A run that executes its steps in order, each until it succeeds. */
function runOf(update: readonly string[], rollback: readonly string[] = [], acts: Acts = {}) {
  const done: string[] = [];
  let tries = 0;
  const run: DrivenRun<readonly string[], Step> & { done: string[]; isClosed: boolean } = {
    done,
    isClosed: false,
    inspect: async () => [...done],
    planNextStep: (view, goal): NextStep<Step> => {
      const kind = (goal === 'update' ? update : rollback).find((each) => !view.includes(each));
      if (kind === 'stuck') return { kind: 'blocked', error: failure };
      return { kind: kind ?? 'done' };
    },
    execute: async ({ kind }) => {
      if (tries++ > 20) throw new Error('no end');
      acts[kind]?.();
      done.push(kind);
    },
    getWaitSignal: () => stop.signal,
    switchToRollback: async (error) => () => new Error(`went back after ${(error as Error).message}`),
    completeRun: async () => ({ outcome: 'updated', exitCode: 0, message: 'updated' }),
    close() {
      this.isClosed = true;
    },
  };
  return run;
}

const failing = (times: number, tries?: number) => {
  let count = 0;
  return () => {
    if (count++ < times)
      throw new RetryableError('up app', failure, { sentence: `try ${count}`, ...(tries && { tries }) });
  };
};

beforeEach(() => {
  lines.length = 0;
  stop = new AbortController();
  vi.useFakeTimers().setTimerTickMode('nextTimerAsync');
  return () => vi.useRealTimers();
});

describe('runSteps', () => {
  it('executes steps in order until no step remains', async () => {
    const run = runOf(['stop', 'up', 'verify']);
    await runSteps(run, 'update', log);
    expect(run.done).toEqual(['stop', 'up', 'verify']);
  });

  it('retries a step that can still succeed, and logs the reason', async () => {
    const run = runOf(['stop', 'up'], [], { up: failing(3) });
    await runSteps(run, 'update', log);
    expect([run.done, lines]).toEqual([
      ['stop', 'up'],
      ['try 1', 'try 2', 'try 3'],
    ]);
  });

  it.each([
    [4, undefined],
    [2, 2],
  ])('fails with the error of the step after the last attempt: %i', async (times, tries) => {
    const run = runOf(['up'], [], { up: failing(times, tries) });
    await expect(runSteps(run, 'update', log)).rejects.toBe(failure);
    expect(lines).toHaveLength(times - 1);
  });

  it('counts the attempts of a step even if other steps succeed in between', async () => {
    const up = failing(9);
    const run = runOf(['clear', 'up'], [], {
      up: () => {
        run.done.length = 0;
        up();
      },
    });
    await expect(runSteps(run, 'update', log)).rejects.toBe(failure);
  });

  it.each(['update', 'rollback'] as const)(
    'aborts a pause with the signal of the current goal: %s',
    async (goal) => {
      const cancelled = new Error('cancelled');
      const run = runOf(['up'], ['up'], { up: failing(9, 9) });
      run.getWaitSignal = (asked) => (asked === goal ? AbortSignal.abort(cancelled) : stop.signal);
      await expect(runSteps(run, goal, log)).rejects.toBe(cancelled);
      expect(lines).toEqual(['try 1']);
    },
  );

  it('fails if a step is blocked, and with any unexpected error', async () => {
    await expect(runSteps(runOf(['up', 'stuck']), 'update', log)).rejects.toBe(failure);
    const bug = new Error('a bug');
    const acts = {
      up: () => {
        throw bug;
      },
    };
    await expect(runSteps(runOf(['up'], [], acts), 'update', log)).rejects.toBe(bug);
  });
});

describe('runToGoal', () => {
  it('returns the outcome, and closes the run', async () => {
    const run = runOf(['up']);
    expect(await updateOrRollBack(run, log)).toMatchObject({ outcome: 'updated' });
    expect(run.isClosed).toBe(true);
  });

  it('rolls back after a failure, and fails with its error', async () => {
    const run = runOf(['up', 'stuck'], ['start']);
    await expect(updateOrRollBack(run, log)).rejects.toThrow('went back after compose failed');
    expect([run.done, run.isClosed]).toEqual([['up', 'start'], true]);
  });

  it('fails with the error that prevents the rollback', async () => {
    await expect(rollBack(runOf([], ['start', 'stuck']), new Error('first'), log)).rejects.toBe(failure);
    const run = runOf(['stuck'], ['start']);
    const noWay = new Error('no way back');
    run.switchToRollback = () => Promise.reject(noWay);
    await expect(updateOrRollBack(run, log)).rejects.toBe(noWay);
    expect([run.done, run.isClosed]).toEqual([[], true]);
  });
});

it('retryUntilDone retries work outside the loop in the same way', async () => {
  const context = { engine: engine(), log };
  const work = failing(2);
  expect(await retryUntilDone(context, async () => work() ?? 'there')).toBe('there');
  const never = failing(9, 3);
  await expect(retryUntilDone(context, async () => never())).rejects.toBe(failure);
});
