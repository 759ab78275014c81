import { describe, expect, it } from 'vitest';
import {
  evaluateChannelFile,
  excludeVersions,
  findRecallReason,
  noChannelFileEffects,
} from '../../../src/server/available-update/channel-file-effects.ts';
import type { StagedRollout } from '../../../src/server/store/stored-entries.ts';
import { channelFile, recallsOf } from '../../feed/channel-copies.ts';

const urgent = { below: 'v1.4.3', why: 'Passwords can be read.' };
const rollout = { version: 'v1.5.0', percent: 10 };
/** These instances get v1.5.0 when its rollout reaches 3.97 % and 29.38 %. */
const early: StagedRollout = { instance: 'instance-1', asked: null };
const late: StagedRollout = { instance: 'instance-4', asked: null };
type Facts = Parameters<typeof evaluateChannelFile>[1];
const facts: Facts = {
  version: 'v1.4.2',
  rollout: late,
  isSigned: true,
  now: Date.parse('2026-11-21T08:00:00Z'),
};
const held = { version: 'v1.5.0', percent: 10, isAsked: false };

describe('the notice of the publisher', () => {
  it.each<[string, Parameters<typeof channelFile>[0], Partial<Facts>, object]>([
    ['is nothing', {}, {}, {}],
    ['has all recalls', { recalled: recallsOf('v1.4.0') }, {}, { recalled: recallsOf('v1.4.0') }],
    ['is urgent for an older version', { urgent }, {}, { urgent }],
    ['is not urgent from that version on', { urgent }, { version: 'v1.4.3' }, {}],
    // Rollout.
    ['holds a release back', { rollout }, {}, { held }],
    ['rolls it out to an instance in the share', { rollout }, { rollout: early }, {}],
    ['rolls it out to everybody', { rollout: { ...rollout, percent: 100 } }, {}, {}],
    [
      'rolls it out to nobody',
      { rollout: { ...rollout, percent: 0 } },
      { rollout: early },
      { held: { ...held, percent: 0 } },
    ],
    [
      'knows that an admin asked for it',
      { rollout },
      { rollout: { ...late, asked: 'v1.5.0' } },
      { held: { ...held, isAsked: true } },
    ],
    ['knows that one asked for another', { rollout }, { rollout: { ...late, asked: 'v1.4.9' } }, { held }],
    ['holds nothing back that runs', { rollout }, { version: 'v1.5.0' }, {}],
    ['holds nothing back from an urgent instance', { rollout, urgent }, {}, { urgent }],
    ['holds it back without an answer of the store', { rollout }, { rollout: null }, { held }],
    // Age.
    [
      'expires',
      { expires: '2026-11-21T08:00:00Z', recalled: recallsOf('v1.4.0') },
      {},
      { staleSince: '2026-11-21T08:00:00Z', recalled: recallsOf('v1.4.0') },
    ],
    ['does not expire before', { expires: '2026-11-21T08:00:01Z' }, {}, {}],
    // Without a signature.
    [
      'has only recalls and urgency without a signature',
      {
        expires: '2026-11-21T08:00:00Z',
        recalled: recallsOf('v1.4.0'),
        rollout,
        urgent: { ...urgent, below: 'v1.5.0' },
      },
      { isSigned: false },
      { recalled: recallsOf('v1.4.0'), urgent: { ...urgent, below: 'v1.5.0' } },
    ],
    ['cannot hold a release back without a signature', { rollout }, { isSigned: false }, {}],
  ])('%s', (_, file, change, expected) => {
    expect(evaluateChannelFile(channelFile(file), { ...facts, ...change })).toEqual({
      ...noChannelFileEffects,
      ...expected,
    });
  });
});

describe('the list of releases', () => {
  const list = ['v1.5.0', 'v1.4.2', 'v1.6.0-canary.9', 'v1.6.0-canary.10'];
  it.each<[string[], string[]]>([
    [[], list],
    [['v1.5.0'], ['v1.4.2', 'v1.6.0-canary.9', 'v1.6.0-canary.10']],
    // Newer builds are not affected; older builds cannot be installed anymore.
    [['v1.6.0-canary.9'], ['v1.5.0', 'v1.4.2', 'v1.6.0-canary.10']],
    [['v1.6.0-canary.10'], ['v1.5.0', 'v1.4.2']],
    [['v1.6.0-canary.11'], ['v1.5.0', 'v1.4.2']],
  ])('excludes the recalled versions %j', (versions, expected) => {
    const releases = list.map((version) => ({ version, url: null, notes: null, publishedAt: null }));
    const left = excludeVersions(releases, recallsOf(...versions));
    expect(left.map(({ version }) => version)).toEqual(expected);
  });
});

describe('a target', () => {
  it.each<[string, string[], string | null]>([
    // target, recalled, rejected for
    ['v1.5.0', ['v1.5.0'], 'v1.5.0'],
    ['v1.5.0', ['v1.4.0', 'v1.6.0-canary.3'], null],
    ['v1.6.0-canary.3', ['v1.6.0-canary.3'], 'v1.6.0-canary.3'],
    // The tag points to a build that the feed does not have yet, or no longer has.
    ['v1.6.0-canary.3', ['v1.6.0-canary.4'], 'v1.6.0-canary.4'],
    ['canary', ['v1.6.0-canary.2', 'v1.6.0-canary.4'], 'v1.6.0-canary.4'],
    ['v1.6.0-canary.5', ['v1.6.0-canary.4', 'v1.5.0'], null],
  ])('%s with a recall of %j: rejected for %s', (to, versions, refused) => {
    const reason = findRecallReason({ to }, { recalled: recallsOf(...versions) });
    expect(reason).toEqual(
      refused && {
        code: 'recalled',
        message: `${refused} has been recalled by its publisher: It loses data`,
        advice: 'Wait until a newer release is available.',
      },
    );
  });

  it('is rejected with the address of further information', () => {
    const [recall] = recallsOf('v1.5.0');
    const recalled = recall ? [{ ...recall, url: 'https://svc.test/recall' }] : [];
    expect(findRecallReason({ to: 'v1.5.0' }, { recalled })?.advice).toBe(
      'Wait until a newer release is available. See https://svc.test/recall',
    );
  });
});
