import { describe, expect, it } from 'vitest';
import {
  maxUpdaterStarts,
  type PreviousRunFacts,
  planRecovery,
  type RecoveryAction,
} from '../../../../src/updater/compose/recovery/plan-recovery.ts';
import type { JournalData } from '../../../../src/updater/run/state/journal.ts';
import type { UnfinishedState } from '../../../../src/updater/run/state/run-state.ts';
import { changeover, ending, journalData } from '../../../build.ts';

/** All values of every input of the plan. Some combinations never occur, but are tested as well. */
const domains = {
  externalChange: [null, '.env matches neither the original file nor the file that the update wrote'],
  ended: ['killed', 'crashed', 'broken'],
  /** From `saving` on, the journal contains the rollout. */
  stage: ['pulling', 'saving', 'writing', 'replacing', 'verifying', 'restoring'],
  /** The run was rolling back, to start over (`begin anew`) or with a final outcome (`end`). */
  goingBack: ['no', 'begin anew', 'end'],
  /** The run has a restore point, complete or not. */
  hasPoint: [false, true],
  started: [false, true],
  hasNewVersionStarted: [false, true],
  hasSameRequest: [false, true],
  attempt: [1, maxUpdaterStarts, maxUpdaterStarts + 1],
  isOwnRun: [false, true],
  canRollBack: [false, true],
} as const;
type Domains = typeof domains;
type Situation = { [K in keyof Domains]: Domains[K][number] };
/** The inputs of a table row; an omitted input can have any value. */
type Given = { [K in keyof Domains]?: readonly Domains[K][number][] };

/** All combinations with these inputs. */
function situations(given: Given): Situation[] {
  let all: Partial<Situation>[] = [{}];
  for (const [key, values] of Object.entries({ ...domains, ...given }))
    all = all.flatMap((situation) => values.map((value) => ({ ...situation, [key]: value })));
  return all
    .filter((situation): situation is Situation => 'isOwnRun' in situation)
    .filter(({ stage, goingBack }) => stage !== 'restoring' || goingBack !== 'no');
}

const theChangeover = changeover();
const theEnding = ending('failed');
const restorePoint: NonNullable<JournalData['point']> = {
  ...{ directory: '/opt/svc/.svc-updater/restore/20261126T104215Z', state: 'saved' },
  ...{ services: [], inMemory: [], riders: [], ports: [], policies: [] },
};

function step(situation: Situation): RecoveryAction {
  const { ended, stage, goingBack, hasPoint, started, ...facts } = situation;
  const afterwards = goingBack === 'end' ? theEnding : null;
  const open: UnfinishedState =
    stage === 'restoring'
      ? { at: stage, ending: afterwards }
      : goingBack === 'no'
        ? { at: stage }
        : { at: 'rolling-back', from: stage, ending: afterwards };
  const data: JournalData = journalData({
    state: ended === 'killed' ? open : { at: 'ended', ending: ending(ended), left: open },
    changeover: stage === 'pulling' ? null : theChangeover,
    point: hasPoint ? restorePoint : null,
    started,
  });
  return planRecovery(data, facts);
}

/** For example `undo, then repeat`. */
const words = (planned: RecoveryAction): string =>
  planned.kind === 'undo' ? `${planned.kind}, then ${planned.afterwards.kind}` : planned.kind;

const ours: Given = { externalChange: [null] };
const unfinished: Given = { ...ours, ended: ['killed'], goingBack: ['no'] };
const crashed: Given = { ...ours, ended: ['crashed'], goingBack: ['no'] };
/** Stages in which the new version must not run yet. */
const notReplacing = ['pulling', 'saving', 'writing'] as const;
const replacing = ['replacing', 'verifying'] as const;
const notReplaced: Given = { ...unfinished, stage: notReplacing };
const replaced: Given = { ...unfinished, stage: replacing };
const crashedAt: Given = { ...crashed, stage: replacing };
const theSame: Given = { ...replaced, hasSameRequest: [true] };
const another: Given = { ...replaced, hasSameRequest: [false] };
const toAnEnd: Given = { ...ours, goingBack: ['end'], stage: [...notReplacing, ...replacing] };
const restoring: Given = { ...ours, goingBack: ['end'], stage: ['restoring'] };
const toBeginAnew: Given = { ...ours, goingBack: ['begin anew'] };
const inTime: Given = { attempt: [1, maxUpdaterStarts] };
const tooOften: Given = { attempt: [maxUpdaterStarts + 1] };
const noneStarted: Given = { started: [false], hasNewVersionStarted: [false] };
const journalSaysStarted: Given = { started: [true] };
const engineSaysStarted: Given = { started: [false], hasNewVersionStarted: [true] };
const canRollBack: Given = { hasPoint: [true], canRollBack: [true] };
const bySomebodyElse = domains.externalChange[1];

const rows: [situation: string, given: Given, step: string][] = [
  ['somebody has worked there since', { externalChange: [bySomebodyElse] }, 'leave'],
  ['it ended broken, and a person knows', { ...ours, ended: ['broken'], goingBack: ['no'] }, 'start-over'],

  [
    'it saved data or wrote files, and whoever started what meanwhile',
    { ...notReplaced, ...inTime },
    'undo, then start-over',
  ],
  ['it never gets as far as replacing', { ...notReplaced, ...tooOften }, 'undo, then give-up'],

  ['the same is asked for', { ...theSame, ...inTime, hasPoint: [false] }, 'resume'],
  [
    'the same, once the new has started',
    { ...theSame, ...inTime, ...journalSaysStarted, hasPoint: [true] },
    'resume',
  ],
  [
    'the same, the engine knows better',
    { ...theSame, ...inTime, ...engineSaysStarted, hasPoint: [true] },
    'resume',
  ],
  [
    'the same, and the old version may have written since the data was saved',
    { ...theSame, ...inTime, ...noneStarted, hasPoint: [true] },
    'undo, then start-over',
  ],
  ['something else is asked for', { ...another, ...inTime, ...noneStarted }, 'undo, then start-over'],
  ['something else, once the new has started', { ...another, ...inTime, ...journalSaysStarted }, 'complete'],
  ['something else, the engine knows better', { ...another, ...inTime, ...engineSaysStarted }, 'complete'],
  ['the new version never gets to start', { ...replaced, ...tooOften, ...noneStarted }, 'undo, then give-up'],
  ...[journalSaysStarted, engineSaysStarted].flatMap((started): typeof rows => {
    const killed = { ...replaced, ...tooOften, ...started };
    return [
      [
        'it is always killed after the start, and has a restore point',
        { ...killed, ...canRollBack },
        'roll-back',
      ],
      ['it is always killed after the start, without one', { ...killed, hasPoint: [false] }, 'give-up'],
      [
        'it is always killed after the start, and must not roll back',
        { ...killed, hasPoint: [true], canRollBack: [false] },
        'give-up',
      ],
      [
        'it crashed after the start, and has a restore point',
        { ...crashedAt, ...started, ...canRollBack },
        'roll-back',
      ],
      ['it crashed after the start, without one', { ...crashedAt, ...started, hasPoint: [false] }, 'give-up'],
      [
        'it crashed after the start, and must not roll back',
        { ...crashedAt, ...started, hasPoint: [true], canRollBack: [false] },
        'give-up',
      ],
    ];
  }),
  ...[
    { ...crashed, stage: notReplacing },
    { ...crashedAt, ...noneStarted },
  ].flatMap((given): typeof rows => [
    ['it crashed before the start, in this container', { ...given, isOwnRun: [true] }, 'undo, then give-up'],
    ['it crashed before the start', { ...given, ...inTime, isOwnRun: [false] }, 'undo, then start-over'],
    [
      'it crashed before the start, too often',
      { ...given, ...tooOften, isOwnRun: [false] },
      'undo, then give-up',
    ],
  ]),

  ['its own rollback, with an end', { ...toAnEnd, isOwnRun: [true] }, 'undo, then repeat'],
  ['other rollback', { ...toAnEnd, ...inTime, isOwnRun: [false] }, 'undo, then start-over'],
  ['other rollback, too often', { ...toAnEnd, ...tooOften, isOwnRun: [false] }, 'undo, then give-up'],
  ['a restore of data, whoever finishes it, and however often', restoring, 'undo, then repeat'],
  ['a rollback before starting over', { ...toBeginAnew, ...inTime }, 'undo, then start-over'],
  ['a rollback, killed each time', { ...toBeginAnew, ...tooOften }, 'undo, then give-up'],
];

describe('planRecovery', () => {
  it.each(rows)('%s', (_, given, expected) => {
    const all = situations(given);
    expect(all).not.toEqual([]);
    expect(all.filter((situation) => words(step(situation)) !== expected)).toEqual([]);
  });

  it('has exactly one table row for every situation', () => {
    const named = rows.flatMap(([, given]) => situations(given).map((each) => JSON.stringify(each)));
    expect(named.toSorted()).toEqual(
      situations({})
        .map((each) => JSON.stringify(each))
        .toSorted(),
    );
  });

  it('allows four starts of one container, as many as the launcher configures in the engine', () => {
    expect(maxUpdaterStarts).toBe(4);
    const now: PreviousRunFacts = {
      isOwnRun: true,
      attempt: 4,
      hasSameRequest: true,
      hasNewVersionStarted: false,
      externalChange: null,
      canRollBack: true,
    };
    const data = journalData({ state: { at: 'replacing' }, changeover: theChangeover });
    expect(planRecovery(data, now).kind).toBe('resume');
    expect(planRecovery(data, { ...now, attempt: 5 }).kind).toBe('undo');
  });
});
