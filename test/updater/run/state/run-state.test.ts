import { describe, expect, it } from 'vitest';
import {
  allowedTransitions,
  canTransition,
  isBeforeReplacing,
  isReplacingOrVerifying,
  loggedPhaseOf,
  rollbackOf,
  type StoredRunState,
  stageOf,
  storedRunStateSchema,
  type UnfinishedState,
  unfinishedStateOf,
} from '../../../../src/updater/run/state/run-state.ts';
import { ending } from '../../../build.ts';

const stages = ['pulling', 'saving', 'writing', 'replacing', 'verifying'] as const;
const failed = ending('failed');
const open: UnfinishedState[] = [
  ...stages.map((at) => ({ at })),
  ...stages.map((from) => ({ at: 'rolling-back' as const, from, ending: failed })),
  { at: 'restoring', ending: null },
];
const broken = (left: UnfinishedState | null): StoredRunState => ({
  at: 'ended',
  ending: ending('broken'),
  left,
});

describe('a run state', () => {
  it.each([...open, broken(null), ...open.map(broken)])(
    '%j is unchanged after storing and reading',
    (state) => {
      expect(storedRunStateSchema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
    },
  );

  it.each(open)('%j is recognized in the outcome that contains it', (state) => {
    for (const of of [
      unfinishedStateOf,
      stageOf,
      rollbackOf,
      isReplacingOrVerifying,
      isBeforeReplacing,
      loggedPhaseOf,
    ])
      expect(of(broken(state))).toEqual(of(state));
    expect(canTransition(broken(state), state)).toBe(true);
  });

  it('has no remaining work if the outcome leaves no state', () => {
    const over = broken(null);
    expect([unfinishedStateOf(over), stageOf(over), rollbackOf(over), loggedPhaseOf(over)]).toEqual([
      null,
      null,
      null,
      'done',
    ]);
    for (const state of open) expect(canTransition(over, state)).toBe(false);
  });

  it('has exactly the transitions of the table', () => {
    for (const from of open)
      for (const to of [...open, broken(null)])
        expect([from.at, to.at, canTransition(from, to)]).toEqual([
          ...[from.at, to.at],
          from.at === to.at || allowedTransitions[from.at].includes(to.at),
        ]);
  });

  it('can always end, and cannot lead from a rollback back to the update', () => {
    for (const { at } of open) expect(allowedTransitions[at]).toContain('ended');
    for (const at of ['rolling-back', 'restoring'] as const)
      for (const forward of ['pulling', 'saving', 'writing', 'verifying'] as const)
        expect(allowedTransitions[at]).not.toContain(forward);
  });
});
