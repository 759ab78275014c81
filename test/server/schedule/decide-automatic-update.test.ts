import { describe, expect, it } from 'vitest';
import {
  type ChannelFileEffects,
  noChannelFileEffects,
} from '../../../src/server/available-update/channel-file-effects.ts';
import type { AvailableUpdate } from '../../../src/server/available-update/choose-update.ts';
import { applyAutomaticUpdateDefaults } from '../../../src/server/contract/automatic-update-settings.ts';
import {
  type AutomaticUpdateFacts,
  chooseAutomaticStep,
  decideAutomaticUpdate,
  isTimeWindowOver,
} from '../../../src/server/schedule/decide-automatic-update.ts';
import { createRunWithDefaults } from '../../../src/wire/api-client/parse-responses.ts';
import type { EndState } from '../../../src/wire/codes.ts';
import type { Rehearsal, Run } from '../../../src/wire/status.ts';

const settings = applyAutomaticUpdateDefaults({ enabled: true, timeZone: 'UTC' });
const urgent: ChannelFileEffects = {
  ...noChannelFileEffects,
  urgent: { below: 'v1.5.0', why: 'Passwords can be read.' },
};
const stale: ChannelFileEffects = { ...noChannelFileEffects, staleSince: '2026-11-24T00:00:00Z' };
const held: ChannelFileEffects = {
  ...noChannelFileEffects,
  held: { version: 'v1.5.0', percent: 10, isAsked: true },
};
const minor = {
  version: 'v1.5.0',
  major: false,
  downloaded: null,
  estimatedSeconds: null,
  upgradePath: ['v1.5.0'],
  settings: [],
};
const offered: AvailableUpdate = {
  latest: null,
  next: minor,
  upToDate: null,
  updateAvailable: true,
  skipped: null,
};
const upToDate = { code: 'none', message: 'no release is available' } as const;
const nothing: AvailableUpdate = { ...offered, next: null, upToDate, updateAvailable: false };
const major: AvailableUpdate = { ...offered, next: { ...minor, major: true } };
const skip = { version: 'v1.5.0', since: null };
const skipped: AvailableUpdate = { ...offered, updateAvailable: false, skipped: skip };
/** A week before the times in these tests. */
const weekBefore = '2026-11-18T12:00:00.000Z';
const run = (outcome: EndState | null, more: Partial<Run> = {}): Run =>
  createRunWithDefaults({
    ...{ id: crypto.randomUUID(), state: outcome ?? 'pull', outcome, to: 'v1.5.0', by: 'anna' },
    ...{ startedAt: '2026-11-20T10:00:00.000Z', endedAt: outcome && '2026-11-20T10:01:00.000Z' },
    ...more,
  });
const byItself = (outcome: EndState | null, startedAt: string, more: Partial<Run> = {}) =>
  run(outcome, { by: 'automatic', startedAt, ...more });

function decided(given: Given = {}) {
  const {
    now = '2026-11-25T03:00:00Z',
    publishedAt = weekBefore,
    word = noChannelFileEffects,
    ...more
  } = given;
  const releases = [{ version: 'v1.5.0', url: null, notes: null, publishedAt }];
  const known = { releases, notice: word };
  const { nextAt, blockedBy } = decideAutomaticUpdate({
    settings,
    offer: offered,
    past: [],
    rehearsals: none,
    hasRestorePoint: false,
    ...more,
    known,
    now: Date.parse(now),
  });
  return [nextAt === null ? null : new Date(nextAt).toISOString().slice(0, 16), blockedBy?.code ?? null];
}
type Given = Partial<Omit<AutomaticUpdateFacts, 'now' | 'known'>> & {
  now?: string;
  publishedAt?: string | null;
  word?: ChannelFileEffects;
};

const rehearsing = { ...settings, rehearse: true };
const tried = (
  state: Rehearsal['state'],
  endedAt: string | null = '2026-11-25T02:10:00.000Z',
): Rehearsal => ({
  ...{ version: 'v1.5.0', state, startedAt: '2026-11-25T02:00:00.000Z', endedAt, by: 'automatic' },
  ...{ message: 'v1.5.0 exited', advice: null, readySeconds: null, log: null },
});

const none = { running: null, results: [] };

const inWindow = '2026-11-25T03:00';
const nextWindow = '2026-11-26T02:00';

describe('an automatic update', () => {
  it.each<[string, Given, (string | null)[]]>([
    ['in its window at once', {}, [inWindow, null]],
    ['before it at its begin', { now: '2026-11-25T01:00:00Z' }, ['2026-11-25T02:00', null]],
    ['at its end at the begin of the next', { now: '2026-11-25T05:00:00Z' }, [nextWindow, null]],
    ['not where that is switched off', { settings: { ...settings, enabled: false } }, [null, null]],
    // Age.
    ['as it becomes old enough', { publishedAt: '2026-11-22T04:30:00Z' }, ['2026-11-25T04:30', null]],
    ['of no age that is known', { publishedAt: null }, [inWindow, 'age-unknown']],
    // Kind of release.
    ['not a major version', { offer: major }, [inWindow, 'major']],
    [
      'a major version where that is wanted',
      { offer: major, settings: { ...settings, includeMajors: true } },
      [inWindow, null],
    ],
    ['not what is skipped', { offer: skipped }, [inWindow, 'skipped']],
    // Past runs.
    ['not what has failed', { past: [run('failed')] }, [inWindow, 'failed']],
    ['though it was refused', { past: [run('refused')] }, [inWindow, null]],
    ['nothing after one that is broken', { past: [run('broken', { to: 'v1.4.9' })] }, [null, 'paused']],
    [
      'nothing after one that was cut off',
      { past: [run('cancelled'), run('failed'), run('crashed', { to: 'v1.4.9' })] },
      [null, 'paused'],
    ],
    [
      'again after a good end',
      { past: [run('unchanged', { to: 'v1.4.9' }), run('broken', { to: 'v1.4.9' })] },
      [inWindow, null],
    ],
    [
      'not the one that was gone back from',
      { past: [run('updated', { kind: 'rollback', to: 'v1.4.2' }), run('broken')] },
      [inWindow, 'failed'],
    ],
    [
      'not the one that an admin rolled back from',
      { past: [run('updated', { kind: 'rollback', from: 'v1.5.0', to: 'v1.4.2' }), run('updated')] },
      [inWindow, 'rolled-back'],
    ],
    [
      'nor the one that was rolled back manually, also days later',
      {
        past: [
          run('refused', { to: 'v1.4.9' }),
          run('updated', { kind: 'rollback', from: null, to: null }),
          run('unchanged'),
          run('updated'),
          run('updated', { to: 'v1.4.2' }),
        ],
      },
      [inWindow, 'rolled-back'],
    ],
    [
      'a newer one than was rolled back from',
      { past: [run('updated', { kind: 'rollback', from: 'v1.4.9', to: 'v1.4.2' })] },
      [inWindow, null],
    ],
    [
      'though a rollback from it failed',
      { past: [run('failed', { kind: 'rollback', from: 'v1.5.0', to: 'v1.4.2' })] },
      [inWindow, null],
    ],
    // Notice of the publisher.
    [
      'at once if it is urgent, whatever its age',
      { word: urgent, publishedAt: '2026-11-25T02:59:00Z' },
      [inWindow, null],
    ],
    ['if it is urgent and of no known age', { word: urgent, publishedAt: null }, [inWindow, null]],
    [
      'not before its window, even if it is urgent',
      { now: '2026-11-25T06:00:00Z', word: urgent },
      [nextWindow, null],
    ],
    ['not if it is urgent and skipped', { word: urgent, offer: skipped }, [inWindow, 'skipped']],
    ['not a major version, even if it is urgent', { word: urgent, offer: major }, [inWindow, 'major']],
    ['not if it is urgent and has failed', { word: urgent, past: [run('failed')] }, [inWindow, 'failed']],
    ['not before it is rolled out to the instance', { word: held }, [inWindow, 'rolling-out']],
    ['not with outdated information', { word: stale }, [null, 'stale']],
    [
      'not with outdated information, even if it is urgent',
      { word: { ...urgent, ...{ staleSince: stale.staleSince } } },
      [null, 'stale'],
    ],
    [
      'not after one that is broken, with outdated information',
      { word: stale, past: [run('broken')] },
      [null, 'paused'],
    ],
    // Rehearsals.
    [
      'not what a rehearsal has shown to fail',
      { rehearsals: { ...none, results: [tried('failed')] } },
      [inWindow, 'rehearsal-failed'],
    ],
    [
      'not what failed days ago, even if it is urgent and rehearsals are off',
      { word: urgent, rehearsals: { ...none, results: [tried('failed', '2026-11-20T03:00:00.000Z')] } },
      [inWindow, 'rehearsal-failed'],
    ],
    [
      'another release than failed',
      { rehearsals: { ...none, results: [{ ...tried('failed'), version: 'v1.4.9' }] } },
      [inWindow, null],
    ],
    [
      'not without a result and a restore point',
      { settings: rehearsing, rehearsals: { ...none, results: [tried('inconclusive')] } },
      [inWindow, 'rehearsal-inconclusive'],
    ],
    [
      'not without a result and a restore point, even if it is urgent',
      { settings: rehearsing, word: urgent, rehearsals: { ...none, results: [tried('inconclusive')] } },
      [inWindow, 'rehearsal-inconclusive'],
    ],
    [
      'without a result, but with a restore point',
      {
        settings: rehearsing,
        rehearsals: { ...none, results: [tried('inconclusive')] },
        hasRestorePoint: true,
      },
      [inWindow, null],
    ],
    [
      'not after a rehearsal that an admin cancelled',
      { settings: rehearsing, rehearsals: { ...none, results: [tried('cancelled')] }, hasRestorePoint: true },
      [inWindow, 'rehearsal-inconclusive'],
    ],
    [
      'with a new rehearsal on the next day',
      {
        settings: rehearsing,
        rehearsals: { ...none, results: [tried('inconclusive', '2026-11-24T02:59:00.000Z')] },
      },
      [inWindow, null],
    ],
    [
      'without a result if rehearsals are off',
      { rehearsals: { ...none, results: [tried('inconclusive')] } },
      [inWindow, null],
    ],
    [
      'not what has failed, while it is rehearsed again',
      { rehearsals: { running: tried('running', null), results: [tried('failed')] } },
      [inWindow, 'rehearsal-failed'],
    ],
    // Once in a window.
    ['not twice in a window', { past: [byItself('cancelled', '2026-11-25T02:00:00Z')] }, [nextWindow, null]],
    ['not while it is on', { past: [byItself(null, '2026-11-25T02:00:00Z')] }, [nextWindow, null]],
  ])('starts or waits: %s', (_, given, expected) => {
    expect(decided(given)).toEqual(expected);
  });

  it.each([
    [
      'the information is outdated',
      { notice: stale, past: [] },
      { code: 'stale', message: 'the information about releases is out of date' },
      '2026-11-24T00:00:00Z',
    ],
    [
      'automatic updates are paused',
      { notice: noChannelFileEffects, past: [run('broken', { to: 'v1.4.9' })] },
      { code: 'paused', message: 'the update to v1.4.9 failed and needs attention' },
      '2026-11-20T10:01:00.000Z',
    ],
  ])('reports since when %s', (_, { notice, past }, reason, since) => {
    const known = { releases: [], notice };
    const { blockedBy } = decideAutomaticUpdate({
      ...{ settings, offer: nothing, known, past, now: 0, rehearsals: none, hasRestorePoint: false },
    });
    expect(blockedBy).toEqual({ ...reason, since });
  });
});

it.each<[string, Rehearsal | null, ReturnType<typeof chooseAutomaticStep>]>([
  ['is rehearsed first', null, 'rehearse'],
  ['is rehearsed although another release was', { ...tried('succeeded'), version: 'v1.4.9' }, 'rehearse'],
  ['waits for a running rehearsal', tried('running', null), 'wait'],
  [
    'waits for a running rehearsal of another release',
    { ...tried('running', null), version: 'v1.4.9' },
    'wait',
  ],
  ['is installed after a success', tried('succeeded'), 'update'],
  ['is installed days after a success', tried('succeeded', '2026-11-20T02:59:00.000Z'), 'update'],
  ['is rehearsed again a day later', tried('inconclusive', '2026-11-24T02:59:00.000Z'), 'rehearse'],
  ['is installed without a result, which only a restore point allows', tried('inconclusive'), 'update'],
])('a release that is due %s', (_, rehearsal, step) => {
  const now = Date.parse('2026-11-25T03:00:00Z');
  const isRunning = rehearsal?.state === 'running';
  const rehearsals = {
    running: isRunning ? rehearsal : null,
    results: isRunning || !rehearsal ? [] : [rehearsal],
  };
  const known = { releases: [], notice: noChannelFileEffects };
  const facts = { offer: offered, known, past: [], rehearsals, now, hasRestorePoint: false };
  expect(chooseAutomaticStep('v1.5.0', { ...facts, settings: rehearsing })).toBe(step);
  const withPoint = chooseAutomaticStep('v1.5.0', { ...facts, settings: rehearsing, hasRestorePoint: true });
  expect(withPoint).toBe(rehearsal?.state === 'inconclusive' ? 'update' : step);
  const isOwn = isRunning && rehearsal.version === 'v1.5.0';
  expect(chooseAutomaticStep('v1.5.0', { ...facts, settings })).toBe(isOwn ? 'wait' : 'update');
});

it.each<[string, string, Partial<typeof settings>, boolean]>([
  ['2026-11-25T02:00:00Z', '2026-11-25T04:59:59Z', {}, false],
  ['2026-11-25T02:00:00Z', '2026-11-25T05:00:00Z', {}, true],
  // The window was changed or disabled.
  ['2026-11-25T02:00:00Z', '2026-11-25T03:00:00Z', { from: '03:00' }, true],
  ['2026-11-25T02:00:00Z', '2026-11-25T03:00:00Z', { enabled: false }, true],
  ['', '2026-11-25T03:00:00Z', {}, true],
])('a run that started at %s and waits at %s with %j is overdue: %s', (startedAt, now, more, expected) => {
  expect(isTimeWindowOver({ startedAt }, { ...settings, ...more }, Date.parse(now))).toBe(expected);
});
