import { describe, expect, it } from 'vitest';
import type { ProgressEvent } from '../../../src/core/progress/event.ts';
import { outcomes } from '../../../src/core/progress/outcome.ts';
import { type RunRecord, reopenRun } from '../../../src/server/run/run-record.ts';
import { record } from '../http/memory-service.ts';

const line = (phase: ProgressEvent['phase'], message: string, percent?: number): ProgressEvent => ({
  time: '2026-11-21T10:42:18.140Z',
  level: 'info',
  phase,
  ...(percent === undefined ? {} : { percent }),
  message,
});

const numbers = (run: RunRecord, after: number) => run.linesAfter(after).map(({ number }) => number);

describe('the state of a run', () => {
  it('contains the required intermediate release', () => {
    const run = record();
    expect(run.run.requiredRelease).toBeNull();
    const state = 'nothing was changed; v1.4.2 is still running; v1.4.9 must be installed first';
    run.add(line('done', `refused (upgrade-step): ${state}. Next: Go there first.`));
    expect(run.run).toMatchObject({
      state: 'refused',
      code: 'upgrade-step',
      requiredRelease: 'v1.4.9',
      to: 'v1.5.0',
    });
    expect(run.run.message).toBe(state);
  });

  it.each([
    ['cancelled: nothing was changed. Next: Again.', 'cancelled', 'nothing was changed', null, 'Again.'],
    [
      'failed (pull-unknown): v1.4.2 runs on. Next: Wait.',
      'failed',
      'v1.4.2 runs on',
      'pull-unknown',
      'Wait.',
    ],
    ['unchanged: v1.5.0 runs. Next: x', 'unchanged', 'unchanged: v1.5.0 runs. Next: x', null, null],
  ])('has state, message, code and advice after %s', (text, state, message, code, advice) => {
    const run = record();
    run.add(line('done', text));
    expect(run.run).toMatchObject({ state, message, code, advice });
  });

  it('only moves forward, even if the updater restarts', () => {
    const run = record();
    const told = [
      line('pull', 'fetching', 42),
      line('pull', 'the connection broke off, once more'),
      line('pull', 'fetching', 10),
      line('inspect', 'svc-updater 1.0.0'),
      line('plan', 'v1.4.2 → v1.5.0'),
      line('pull', 'fetching', 60),
      line('recreate', 'stopping worker'),
      line('pull', 'late'),
    ].map((event) => {
      run.add(event);
      return [run.run.state, run.run.phase, run.run.percent, run.run.message];
    });
    expect(told).toEqual([
      ['pull', 'pull', 42, 'fetching'],
      ['pull', 'pull', 42, 'the connection broke off, once more'],
      ['pull', 'pull', 42, 'fetching'],
      ['pull', 'pull', 42, 'svc-updater 1.0.0'],
      ['pull', 'pull', 42, 'v1.4.2 → v1.5.0'],
      ['pull', 'pull', 60, 'fetching'],
      ['recreate', 'recreate', null, 'stopping worker'],
      ['recreate', 'recreate', null, 'late'],
    ]);
  });

  it.each(outcomes)('ends with a final line of the outcome %s', (outcome) => {
    const run = record();
    run.add(line('pull', 'fetching', 42));
    run.add(line('done', `${outcome}: see above`));
    const expected =
      outcome === 'usage' ? 'refused' : ['fetched', 'rehearsed'].includes(outcome) ? 'unchanged' : outcome;
    expect(run.run).toMatchObject({ state: expected, outcome: expected, phase: 'pull', percent: null });
    expect(run.hasEnded).toBe(true);
  });

  it('does not end at a final line without an outcome', () => {
    const run = record();
    run.add(line('pull', 'fetching', 42));
    run.add(line('done', 'the engine is shutting down'));
    expect(run.run).toMatchObject({ state: 'pull', outcome: null, message: 'the engine is shutting down' });
  });

  it('does not change after its end', () => {
    const run = record();
    run.add(line('done', 'updated'));
    const { run: ended } = run;
    run.end({ outcome: 'crashed', message: 'the container is gone' });
    run.setLaunchState('launching', 'pulling the updater');
    run.add(line('inspect', 'again'));
    run.add(line('done', 'failed: again'));
    expect(run.run).toEqual(ended);
    expect(numbers(run, 0)).toEqual([1, 2, 3]);
  });
});

it('a resumed run keeps its origin and the steps before its launch', () => {
  const run = record();
  run.setFields({ downtimeSeconds: 2 });
  run.setLaunchState('preparing', 'dumped');
  run.setLaunchState('launching', 'pulling the updater');
  run.add(line('pull', 'fetching'));
  run.end({ outcome: 'crashed', message: 'the container is gone' });
  const again = reopenRun({ ...run.run, by: 'anna' });
  expect(again).toMatchObject({ id: 'run1', by: 'anna', outcome: null, downtimeSeconds: null });
  expect(again.steps.map(({ state, endedAt }) => [state, endedAt === null])).toEqual([
    ['launching', false],
    ['preparing', false],
    ['launching', true],
  ]);
});

it('lines keep their numbers when the oldest are dropped', () => {
  const run = record();
  for (let number = 1; number <= 5_000; number++) {
    run.add(line('pull', `${number}`));
    const kept = run.linesAfter(0);
    expect(kept.length).toBeLessThanOrEqual(1_000);
    expect(kept.at(-1)).toEqual({ number, event: line('pull', `${number}`) });
  }
  expect(run.lineCount).toBe(5_000);
  const kept = run.linesAfter(0);
  expect(kept.length).toBeGreaterThanOrEqual(900);
  for (const { number, event } of kept) expect(event.message).toBe(`${number}`);
  expect(numbers(run, 4_998)).toEqual([4_999, 5_000]);
  expect(numbers(run, 1)).toEqual(kept.map(({ number }) => number));
});
