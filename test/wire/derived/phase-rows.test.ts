import { describe, expect, it } from 'vitest';
import { parseRunWithServerTime } from '../../../src/wire/api-client/parse-responses.ts';
import { phaseNames, type RunState } from '../../../src/wire/codes.ts';
import {
  canProductBeUnavailable,
  isTooLateToCancel,
  listRunPhaseRows,
} from '../../../src/wire/derived/phase-rows.ts';
import type { Run } from '../../../src/wire/status.ts';

const start = Date.parse('2026-11-21T10:42:00Z');
const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();

/** A run in the last of these states. Each previous state lasted a second. */
function runIn(states: readonly string[], more: Partial<Run> = {}): Run {
  const isOver = more.outcome !== undefined;
  const steps = states.map((state, index) => ({
    state,
    startedAt: at(index),
    endedAt: index < states.length - 1 || isOver ? at(index + 1) : null,
    message: `${state} said`,
  }));
  const run = parseRunWithServerTime({
    id: 'a',
    state: states.at(-1),
    startedAt: at(0),
    steps,
    message: `${states.at(-1)} said`,
    ...more,
  });
  if (run === null) throw new Error('no run');
  return run;
}
const told = (run: Run, seconds: number) =>
  listRunPhaseRows(run, start + seconds * 1000).map(({ mark, word, message, took }) =>
    [mark, word, message, took === null ? '' : `${took / 1000} s`].filter(Boolean).join(' '),
  );

describe('the phases of a run', () => {
  it('are shown without the digests of images', () => {
    const message = `pulled acme/app:v2@sha256:${'a'.repeat(64)}, acme/db@sha256:${'b'.repeat(64)}`;
    expect(told(runIn(['launching', 'pull'], { message }), 1)).toContain(
      'now pulling acme/app:v2, acme/db 0 s',
    );
  });

  it.each<[string[], number, Partial<Run>, string[]]>([
    [
      ['preparing', 'launching', 'inspect', 'plan', 'pull'],
      9,
      { percent: 42 },
      [
        'done prepared said 2 s',
        'done checked 2 s',
        'now pulling pull said 5 s',
        'ahead replacing',
        'ahead verifying',
      ],
    ],
    [
      ['waiting'],
      60,
      { state: 'cancelled', outcome: 'cancelled', endedAt: at(3) },
      ['failed waiting waiting said 1 s'],
    ],
    [
      ['launching', ...phaseNames],
      60,
      { state: 'updated', outcome: 'updated', endedAt: at(8) },
      [
        'done prepared 1 s',
        'done checked 2 s',
        'done pulled pull said 1 s',
        'done saved 1 s',
        'done replaced 2 s',
        'done verified 1 s',
      ],
    ],
    // An unknown state of a newer server is ignored.
    [
      ['launching', 'dancing'],
      3,
      {},
      ['done prepared 1 s', 'ahead checking', 'ahead pulling', 'ahead replacing', 'ahead verifying'],
    ],
    [[], 3, { state: 'cancelled' as RunState, outcome: 'cancelled' }, []],
  ])('are listed for the states %j after %d s', (states, seconds, more, rows) => {
    expect(told(runIn(states.length > 0 ? states : ['cancelled'], more), seconds)).toEqual(rows);
  });
});

describe('a run', () => {
  it.each<[string[], Partial<Run>, boolean, boolean]>([
    [['waiting'], {}, false, false],
    [['pull', 'write'], {}, false, false],
    [['pull', 'save'], {}, true, false],
    [['write', 'recreate'], {}, true, true],
    [['dancing'], {}, false, false],
    [['launching'], { kind: 'rollback' }, false, false],
    [['inspect'], { kind: 'rollback' }, false, true],
  ])('in %j %j: svc may be unavailable %j, too late to cancel %j', (states, more, isAway, isLate) => {
    const run = runIn(states, more);
    expect([canProductBeUnavailable(run), isTooLateToCancel(run)]).toEqual([isAway, isLate]);
  });
});
