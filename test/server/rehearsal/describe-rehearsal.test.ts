import { describe, expect, it } from 'vitest';
import {
  addRehearsalResult,
  describeRehearsal,
  isOutdatedRehearsal,
} from '../../../src/server/rehearsal/describe-rehearsal.ts';
import { createRunWithDefaults } from '../../../src/wire/api-client/parse-responses.ts';
import type { Rehearsal } from '../../../src/wire/status.ts';

const minute = 60_000;
const before = (milliseconds: number): string => new Date(Date.now() - milliseconds).toISOString();
/** A result that ended a minute after it was started. */
const resultOf = (state: Rehearsal['state'], startedMs = 10 * minute, version = 'v1.5.0'): Rehearsal => ({
  version,
  state,
  startedAt: before(startedMs),
  endedAt: before(startedMs - minute),
  by: 'anna',
  message: state,
  advice: null,
  readySeconds: null,
  log: null,
});
const later = 5 * minute;
const week = 7 * 24 * 60 * minute;
const inFuture = -60 * minute;

describe('the stored result of a version', () => {
  it.each<[string, Rehearsal, Rehearsal, boolean]>([
    ['a failure by a later success', resultOf('failed'), resultOf('succeeded', later), true],
    ['a failure by an earlier success', resultOf('failed'), resultOf('succeeded', 20 * minute), false],
    ['a failure by no result', resultOf('failed'), resultOf('inconclusive', later), false],
    ['a failure by a cancellation', resultOf('failed'), resultOf('cancelled', later), false],
    ['an old failure by no result', resultOf('failed', 2 * week), resultOf('inconclusive'), false],
    [
      'a failure of a clock that was ahead by no result',
      resultOf('failed', inFuture),
      resultOf('cancelled'),
      false,
    ],
    [
      'a failure of a clock that was ahead by a success',
      resultOf('failed', inFuture),
      resultOf('succeeded'),
      true,
    ],
    ['a success by a later failure', resultOf('succeeded'), resultOf('failed', later), true],
    ['a success by an earlier failure', resultOf('succeeded'), resultOf('failed', 20 * minute), false],
    ['a success by no result', resultOf('succeeded'), resultOf('inconclusive', later), false],
    ['an outdated success by no result', resultOf('succeeded', 2 * week), resultOf('inconclusive'), true],
    [
      'a success of a clock that was ahead by a failure',
      resultOf('succeeded', inFuture),
      resultOf('failed'),
      true,
    ],
    ['no result by a success', resultOf('inconclusive'), resultOf('succeeded', later), true],
    ['no result by the failure of the same rehearsal', resultOf('inconclusive'), resultOf('failed'), true],
    ['a cancellation by no result', resultOf('cancelled'), resultOf('inconclusive', later), true],
  ])('is replaced or remains: %s', (_, known, result, isReplaced) => {
    const same = {
      ...result,
      startedAt:
        known.message === 'inconclusive' && result.message === 'failed' ? known.startedAt : result.startedAt,
    };
    expect(addRehearsalResult([known], same)).toEqual([isReplaced ? same : known]);
  });

  it('is not written again for the same rehearsal', () => {
    const stored = [resultOf('inconclusive')];
    expect(addRehearsalResult(stored, { ...(stored[0] as Rehearsal) })).toBe(stored);
  });

  it('does not affect those of other versions, of which the last 20 remain', () => {
    let stored: Rehearsal[] | null = null;
    for (let patch = 0; patch < 25; patch++)
      stored = addRehearsalResult(stored, resultOf('failed', minute, `v1.5.${patch}`));
    expect(stored?.map(({ version }) => version).slice(0, 2)).toEqual(['v1.5.24', 'v1.5.23']);
    expect(stored).toHaveLength(20);
  });

  it.each<[Rehearsal, boolean]>([
    [resultOf('succeeded', week - minute), false],
    [resultOf('succeeded', week + 2 * minute), true],
    [resultOf('failed', 100 * week), false],
    [resultOf('cancelled', inFuture), true],
    [{ ...resultOf('running', 2 * week), endedAt: null }, false],
  ])('is outdated after a week or with a clock that was ahead: %j', (result, isOutdated) => {
    expect(isOutdatedRehearsal(result)).toBe(isOutdated);
  });
});

it.each([
  ['rehearsal-failed', 'failed', /^Find the error/],
  ['rehearsal-inconclusive', 'inconclusive', /^Fix the cause/],
  ['updater-ended', 'inconclusive', /^Nothing was changed\. Check the log/],
  ['pull-unknown', 'inconclusive', /^Check that/],
])('a rehearsal that ends with the code %s is %s, with its own advice', (code, state, advice) => {
  const run = createRunWithDefaults({
    ...{ id: 'run1', state: 'failed', outcome: 'failed', to: 'v1.5.0', code },
    ...{ message: 'nothing was changed', cause: 'app exited', advice: 'Check that the image exists.' },
  });
  const described = describeRehearsal(run, null);
  expect(described).toMatchObject({ version: 'v1.5.0', state, message: 'app exited' });
  expect(described.advice).toMatch(advice);
});
