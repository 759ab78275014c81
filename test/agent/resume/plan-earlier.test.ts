import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  type EarlierFacts,
  type EarlierStep,
  maxAttempts,
  planEarlier,
} from '../../../src/agent/resume/plan-earlier.ts';
import type { JournalData } from '../../../src/agent/state/journal.ts';
import { changeover, ending, journalData } from '../../build.ts';

/** Every value of all that the plan looks at. A few combinations occur in no run: they are planned for all the same. */
const domains = {
  othersWork: [null, '.env is neither as it was before nor as it was written'],
  ended: ['killed', 'crashed', 'broken'],
  /** It had come as far as the containers. */
  replaced: [false, true],
  /** It was putting everything back, to `begin anew` or to `end`. */
  goingBack: ['no', 'begin anew', 'end'],
  started: [false, true],
  newHasStarted: [false, true],
  sameRequest: [false, true],
  attempt: [1, maxAttempts, maxAttempts + 1],
  isOwn: [false, true],
} as const;
type Domains = typeof domains;
type Situation = { [K in keyof Domains]: Domains[K][number] };
/** What a row of the table is about: what it does not name may be anything. */
type Given = { [K in keyof Domains]?: readonly Domains[K][number][] };

/** All that the domains allow of what is given. */
function situations(given: Given): Situation[] {
  let all: Partial<Situation>[] = [{}];
  for (const [key, values] of Object.entries({ ...domains, ...given }))
    all = all.flatMap((situation) => values.map((value) => ({ ...situation, [key]: value })));
  return all.filter((situation): situation is Situation => 'isOwn' in situation);
}

const theChangeover = changeover();
const theEnding = ending('failed');

function step(situation: Situation): EarlierStep {
  const { ended, replaced, goingBack, started, ...facts } = situation;
  const back = { no: null, 'begin anew': { ending: null }, end: { ending: theEnding } };
  const data: JournalData = journalData({
    phase: replaced ? 'recreate' : 'write',
    changeover: replaced ? theChangeover : null,
    goingBack: back[goingBack],
    started,
    outcome: ended === 'killed' ? null : ending(ended),
  });
  return planEarlier(data, facts);
}

/** `put-back, then repeat` */
const words = (planned: EarlierStep): string =>
  planned.kind === 'put-back' ? `${planned.kind}, then ${planned.afterwards.kind}` : planned.kind;

/** The different ones that are planned. */
const stepsOf = (given: Given): EarlierStep[] => {
  const all = situations(given).map((situation) => step(situation));
  return all.filter((each, at) => all.findIndex((other) => isDeepStrictEqual(each, other)) === at);
};

const ours: Given = { othersWork: [null] };
const unfinished: Given = { ...ours, ended: ['killed', 'crashed'], goingBack: ['no'] };
const written: Given = { ...unfinished, replaced: [false] };
const replaced: Given = { ...unfinished, replaced: [true] };
const another: Given = { ...replaced, sameRequest: [false] };
const toAnEnd: Given = { ...ours, goingBack: ['end'] };
const toBeginAnew: Given = { ...ours, goingBack: ['begin anew'] };
const inTime: Given = { attempt: [1, maxAttempts] };
const tooOften: Given = { attempt: [maxAttempts + 1] };
const noneStarted: Given = { started: [false], newHasStarted: [false] };
const journalSaysStarted: Given = { started: [true] };
const engineSaysStarted: Given = { started: [false], newHasStarted: [true] };
const bySomebodyElse = domains.othersWork[1];

const rows: [situation: string, given: Given, step: string][] = [
  ['somebody has worked there since', { othersWork: [bySomebodyElse] }, 'leave-alone'],
  ['it ended broken, and a person knows', { ...ours, ended: ['broken'], goingBack: ['no'] }, 'begin-anew'],

  ['it had replaced nothing yet', { ...written, ...inTime }, 'put-back, then begin-anew'],
  ['it never gets as far as replacing', { ...written, ...tooOften }, 'put-back, then give-up'],

  ['the same is asked for', { ...replaced, ...inTime, sameRequest: [true] }, 'go-on'],
  ['something else is asked for', { ...another, ...inTime, ...noneStarted }, 'put-back, then begin-anew'],
  [
    'something else, once the new has started',
    { ...another, ...inTime, ...journalSaysStarted },
    'bring-forward',
  ],
  [
    'something else, the engine knows better',
    { ...another, ...inTime, ...engineSaysStarted },
    'bring-forward',
  ],
  [
    'the new version never gets to start',
    { ...replaced, ...tooOften, ...noneStarted },
    'put-back, then give-up',
  ],
  ['it is always killed after the start', { ...replaced, ...tooOften, ...journalSaysStarted }, 'give-up'],
  ['it is always killed at the start', { ...replaced, ...tooOften, ...engineSaysStarted }, 'give-up'],

  ['its own way back, with an end', { ...toAnEnd, isOwn: [true] }, 'put-back, then repeat'],
  ["another's way back", { ...toAnEnd, ...inTime, isOwn: [false] }, 'put-back, then begin-anew'],
  ["another's way back, too often", { ...toAnEnd, ...tooOften, isOwn: [false] }, 'put-back, then give-up'],
  ['a way back to begin anew', { ...toBeginAnew, ...inTime }, 'put-back, then begin-anew'],
  ['a way back, killed each time', { ...toBeginAnew, ...tooOften }, 'put-back, then give-up'],
];

describe('planEarlier', () => {
  it.each(rows)('%s', (_, given, expected) => {
    const all = situations(given);
    expect(all).not.toEqual([]);
    expect(all.filter((situation) => words(step(situation)) !== expected)).toEqual([]);
  });

  it('has one row of this table for every situation', () => {
    const named = rows.flatMap(([, given]) => situations(given).map((each) => JSON.stringify(each)));
    expect(named.toSorted()).toEqual(
      situations({})
        .map((each) => JSON.stringify(each))
        .toSorted(),
    );
  });

  // Nothing new is there to start before it comes as far as the containers.
  const hasStarted = (now: Situation) => now.replaced && (now.started || now.newHasStarted);
  const isExhausted = (now: Situation) => now.attempt > maxAttempts;
  const isGoingBack = (now: Situation) => now.goingBack !== 'no';
  const isHalf = (now: Situation) => now.ended !== 'broken' || isGoingBack(now);
  const hasEnd = (now: Situation) => now.goingBack === 'end';
  const isStrange = (now: Situation) => now.othersWork !== null;
  const isPutBack = (to: string) => to.startsWith('put-back');
  const goesOn = ['go-on', 'bring-forward', 'put-back, then begin-anew'];

  it.each<[string, holds: (now: Situation, step: string) => boolean]>([
    ["others' work, and nothing else, is left alone", (now, to) => isStrange(now) === (to === 'leave-alone')],
    ['what has started is not put back', (now, to) => !isPutBack(to) || !hasStarted(now) || isGoingBack(now)],
    ['a way back is gone to its end', (now, to) => !isGoingBack(now) || isStrange(now) || isPutBack(to)],
    ['nobody gives up too early', (now, to) => !to.includes('give-up') || isExhausted(now)],
    ['nobody tries too often', (now, to) => !isExhausted(now) || !goesOn.includes(to)],
    ['only the same is gone on with', (now, to) => to !== 'go-on' || (now.sameRequest && now.replaced)],
    ['only what has started is brought forward', (now, to) => to !== 'bring-forward' || hasStarted(now)],
    ['only its own container repeats', (now, to) => !to.includes('repeat') || (now.isOwn && hasEnd(now))],
    ['nothing half done is left as it is', (now, to) => to !== 'begin-anew' || !isHalf(now)],
  ])('in every situation: %s', (_, holds) => {
    expect(situations({}).filter((situation) => !holds(situation, words(step(situation))))).toEqual([]);
  });

  it('hands over what it was given', () => {
    const changes = { changeover: theChangeover };
    const again = { ...replaced, ...inTime, sameRequest: [true] } as const;
    expect(stepsOf(again)).toEqual([{ kind: 'go-on', ...changes }]);
    expect(stepsOf({ ...another, ...inTime, ...journalSaysStarted })).toEqual([
      { kind: 'bring-forward', ...changes },
    ]);
    const afterwards = { kind: 'repeat', ending: theEnding };
    expect(stepsOf({ ...toAnEnd, isOwn: [true] })).toEqual([{ kind: 'put-back', afterwards }]);
    expect(stepsOf({ othersWork: [bySomebodyElse] })).toEqual([
      { kind: 'leave-alone', because: bySomebodyElse },
    ]);
  });

  it('lets one container start four times, as often as the launcher has the engine start it', () => {
    expect(maxAttempts).toBe(4);
    const now: EarlierFacts = {
      isOwn: true,
      attempt: 4,
      sameRequest: true,
      newHasStarted: false,
      othersWork: null,
    };
    expect(planEarlier(journalData({ changeover: theChangeover }), now).kind).toBe('go-on');
    expect(planEarlier(journalData({ changeover: theChangeover }), { ...now, attempt: 5 }).kind).toBe(
      'put-back',
    );
  });
});
