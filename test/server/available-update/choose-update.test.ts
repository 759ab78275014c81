import { describe, expect, it } from 'vitest';
import type { Channel, Release } from '../../../src/core/release/channel.ts';
import { noChannelFileEffects } from '../../../src/server/available-update/channel-file-effects.ts';
import {
  type AvailableUpdateFacts,
  chooseAvailableUpdate,
  resolveDirectTarget,
  resolveFirstUpgradeStep,
} from '../../../src/server/available-update/choose-update.ts';
import { createRunWithDefaults } from '../../../src/wire/api-client/parse-responses.ts';
import type { UpToDateCode } from '../../../src/wire/codes.ts';

const releases = (...versions: string[]): Release[] =>
  versions.map((version) => ({ version, url: null, notes: null, publishedAt: null }));

function known(
  version: string,
  channel: Channel,
  published: string[],
  more: Partial<AvailableUpdateFacts> = {},
): AvailableUpdateFacts {
  return {
    version,
    channel,
    releases: releases(...published),
    checkedAt: new Date(0),
    staleTag: null,
    lastRun: null,
    skipped: null,
    proofs: null,
    notice: noChannelFileEffects,
    releasesWithHeld: null,
    ...more,
  };
}

/** @param message a text, or a matcher of it */
const refused = (message: unknown) => ({ reason: { code: 'up-to-date', message } });

describe('the available update', () => {
  const published = ['v1.5.0', 'v1.6.0-canary.9', 'v1.4.2', 'v1.6.0-canary.10', 'v1.6.0-canary.2'];
  it.each<[string, Channel, string[], string | null, string | null]>([
    // running, channel, published, latest, offered
    ['v1.4.2', 'stable', published, 'v1.5.0', 'v1.5.0'],
    ['v1.4.2', 'canary', published, 'v1.6.0-canary.10', 'v1.6.0-canary.10'],
    ['v1.6.0-canary.10', 'canary', published, 'v1.6.0-canary.10', null],
    // After a change to stable: no downgrade; a stable release is offered if it is newer than the canary.
    ['v1.6.0-canary.10', 'stable', [...published, 'v1.6.0'], 'v1.6.0', 'v1.6.0'],
    // The canary channel offers canary builds, not the stable releases made from them.
    ['v1.6.0-canary.10', 'canary', [...published, 'v1.6.0'], 'v1.6.0-canary.10', null],
    ['v1.4.2', 'stable', [], null, null],
    ['main-4f2a', 'stable', published, 'v1.5.0', null],
  ])('for %s on %s with %j: latest %s, offered %s', (version, channel, list, latest, offered) => {
    const given = known(version, channel, list);
    const found = chooseAvailableUpdate(given);
    expect(found.latest?.version ?? null).toBe(latest);
    expect(found.upToDate === null ? latest : null).toBe(offered);
    const goal = resolveDirectTarget(null, given);
    expect('reason' in goal ? null : goal.to).toBe(offered);
  });
});

describe('the reason why no update is available', () => {
  it.each<[UpToDateCode, string, AvailableUpdateFacts, RegExp]>([
    ['newest', 'the newest runs', known('v1.5.0', 'stable', ['v1.5.0']), /^v1\.5\.0 is the newest release/],
    [
      'ahead',
      'a canary is ahead',
      known('v1.6.0-canary.9', 'stable', ['v1.5.0']),
      /^v1\.6\.0-canary\.9 is newer than v1\.5\.0/,
    ],
    [
      'tag-lags',
      'the tag lags behind',
      known('v1.4.2', 'stable', ['v1.5.0'], {
        staleTag: { version: 'v1.5.0', reference: 'acme/svc:latest' },
      }),
      /acme\/svc:latest does not point to it yet/,
    ],
    ['off', 'no feed', known('v1.4.2', 'stable', [], { releases: null }), /feed is disabled/],
    ['unread', 'not read yet', known('v1.4.2', 'stable', [], { checkedAt: null }), /not been read yet/],
    [
      'none',
      'nothing there',
      known('v1.4.2', 'canary', ['v1.5.0']),
      /no release is available on the canary channel/,
    ],
    ['unknown-version', 'no release runs', known('main', 'stable', ['v1.5.0']), /is not a release/],
  ])('is %s: %s', (code, _, given, sentence) => {
    const message = expect.stringMatching(sentence);
    expect(chooseAvailableUpdate(given)).toMatchObject({ next: null, upToDate: { code, message } });
    expect(resolveDirectTarget(null, given)).toEqual(refused(expect.stringMatching(sentence)));
  });
});

describe('a release that is not rolled out to this instance', () => {
  const word = { ...noChannelFileEffects, held: { version: 'v1.5.0', percent: 10, isAsked: false } };
  const held = (version: string, ...rest: string[]) =>
    known(version, 'stable', rest, { notice: word, releasesWithHeld: releases('v1.5.0', ...rest) });

  it('is the reason why no update is available', () => {
    const message =
      'v1.5.0 is being rolled out to 10% of all instances, but not to this one yet; to install it now, check for updates again';
    const upToDate = { code: 'rolling-out', message };
    expect(chooseAvailableUpdate(held('v1.4.2', 'v1.4.2'))).toMatchObject({
      latest: { version: 'v1.4.2' },
      next: null,
      upToDate,
    });
    expect(chooseAvailableUpdate(held('v1.4.2'))).toMatchObject({ latest: null, next: null, upToDate });
    expect(resolveDirectTarget(null, held('v1.4.2'))).toEqual(refused(message));
  });

  it('does not block an older release that is newer than the running version', () => {
    expect(chooseAvailableUpdate(held('v1.4.2', 'v1.4.3'))).toMatchObject({
      next: { version: 'v1.4.3' },
      upToDate: null,
    });
  });

  it('is accepted as an explicit target', () => {
    expect(resolveDirectTarget('v1.5.0', held('v1.4.2'))).toEqual({ to: 'v1.5.0' });
  });

  it('is not the reason if it could not be installed anyway', () => {
    const releases = [{ ...published('v1.5.0'), requires: 'v1.4.9' }];
    const given = known('v1.4.2', 'stable', ['v1.4.2'], { notice: word, releasesWithHeld: releases });
    expect(chooseAvailableUpdate(given)).toMatchObject({ next: null, upToDate: { code: 'newest' } });
  });
  const published = (version: string): Release => ({ version, url: null, notes: null, publishedAt: null });
});

it('reports that no release is available if all releases of the channel are recalled', () => {
  const word = { ...noChannelFileEffects, recalled: [{ version: 'v1.5.0', why: 'It loses data.' }] };
  expect(chooseAvailableUpdate(known('v1.4.2', 'stable', [], { notice: word }))).toMatchObject({
    upToDate: { code: 'none', message: 'no release is available on the stable channel' },
  });
});

describe('an explicit target', () => {
  const given = known('v1.5.0', 'stable', ['v1.6.0', 'v1.7.0-canary.3']);
  it.each<[string, AvailableUpdateFacts, object]>([
    ['v1.6.0', given, { to: 'v1.6.0' }],
    ['v1.9.9', given, { to: 'v1.9.9' }],
    ['canary', given, { to: 'v1.7.0-canary.3' }],
    ['canary', known('v1.5.0', 'stable', []), { to: 'canary' }],
    ['v1.5.0', given, refused('v1.5.0 is already running')],
    ['v1.4.0', given, refused(expect.stringContaining('downgrades are not supported'))],
    ['v1.4.0', known('main', 'stable', []), { to: 'v1.4.0' }],
  ])('%s is accepted or rejected (row %#)', (named, from, goal) => {
    expect(resolveDirectTarget(named, from)).toEqual(goal);
  });
});

describe('required intermediate releases', () => {
  /** `v3.0.0<v2.8.0` is v3.0.0, which requires v2.8.0 or later. */
  const feed = (...words: string[]): Release[] =>
    words.map((word) => {
      const [version = '', requires] = word.split('<');
      return { ...plain(version), ...(requires !== undefined && { requires }) };
    });
  const plain = (version: string): Release => ({ version, url: null, notes: null, publishedAt: null });
  const facts = (
    version: string,
    list: Release[],
    more: Partial<AvailableUpdateFacts> = {},
  ): AvailableUpdateFacts => ({
    ...known(version, 'stable', [], more),
    releases: list,
  });

  const chain = [
    'v3.1.0<v3.0.0',
    'v3.0.0<v2.8.0',
    'v2.9.0<v2.0.0',
    'v2.8.0<v2.0.0',
    'v2.0.0<v1.5.0',
    'v1.5.0',
    'v1.6.0',
  ];
  it.each<[string, string[], string | null, boolean, string]>([
    // running, published, next, major, path
    ['v3.0.0', chain, 'v3.1.0', false, 'v3.1.0'],
    ['v2.8.0', chain, 'v3.0.0', true, 'v3.0.0 v3.1.0'],
    ['v1.4.0', chain, 'v1.6.0', false, 'v1.6.0 v2.0.0 v2.9.0 v3.0.0 v3.1.0'],
    // A canary older than the required release does not satisfy the requirement; a newer canary does.
    ['v2.8.0-canary.4', ['v3.0.0<v2.8.0', 'v2.8.0'], 'v2.8.0', false, 'v2.8.0 v3.0.0'],
    ['v2.8.1-canary.4', ['v3.0.0<v2.8.0', 'v2.8.0'], 'v3.0.0', true, 'v3.0.0'],
    // If the feed lacks the required release, a later allowed release is used; without one, no update is available.
    ['v1.0.0', ['v3.0.0<v2.8.0', 'v2.9.0'], 'v2.9.0', true, 'v2.9.0 v3.0.0'],
    ['v1.1.0', ['v3.0.0<v2.8.0', 'v1.1.0'], null, false, ''],
    // On the stable channel, a canary is never an intermediate release.
    ['v1.1.0', ['v3.0.0<v2.8.0', 'v2.9.0-canary.3'], null, false, ''],
  ])('from %s with %j: next is %s', (running, published, next, major, path) => {
    const given = facts(running, feed(...published));
    const told = chooseAvailableUpdate(given);
    expect(told.latest?.version).toBe(published[0]?.split('<')[0]);
    expect(told.updateAvailable).toBe(next !== null);
    const unknown = { downloaded: null, estimatedSeconds: null, upgradePath: path.split(' '), settings: [] };
    expect(told.next).toEqual(next === null ? null : { version: next, major, ...unknown });
    expect(told.upToDate?.code).toBe(next === null ? 'upgrade-step' : undefined);
    const none = refused(expect.stringContaining('must be installed before'));
    expect(resolveDirectTarget(null, given)).toEqual(next === null ? none : { to: next });
  });

  it('are limited to an upgrade path of 20 releases', () => {
    const list = Array.from({ length: 3_000 }, (_, at) => `v1.${3_000 - at}.0<v1.${2_999 - at}.0`);
    const given = facts('v1.0.0', feed(...list));
    const told = chooseAvailableUpdate(given).next?.upgradePath ?? [];
    expect([told[0], told.at(-1), told.length]).toEqual(['v1.1.0', 'v1.20.0', 20]);
    expect(resolveFirstUpgradeStep(null, given)).toEqual(refused('no upgrade path to v1.3000.0 is known'));
  });

  it('are stable releases even on the canary channel', () => {
    const list = feed('v3.0.0-canary.9<v2.8.0', 'v2.9.0-canary.1', 'v2.8.0', 'v2.7.0');
    const given = { ...facts('v2.6.0', list), channel: 'canary' as const };
    expect(chooseAvailableUpdate(given).next?.version).toBe('v2.8.0');
    expect(resolveDirectTarget(null, given)).toEqual({ to: 'v2.8.0' });
    expect(resolveDirectTarget(null, { ...given, version: 'v2.8.0' })).toEqual({
      to: 'v3.0.0-canary.9',
    });
  });

  it.each<[string, string, string[], [to: string, first: string], string | null]>([
    ['the one that was named', 'v2.6.0', ['v3.0.0', 'v2.9.0', 'v2.8.0'], ['v3.0.0', 'v2.8.0'], 'v2.8.0'],
    ['nothing where the feed has not got it', 'v2.6.0', ['v3.0.0', 'v2.9.0'], ['v3.0.0', 'v2.8.0'], null],
    [
      'nothing where the step itself led to another image',
      'v2.6.0',
      ['v3.0.0', 'v2.8.0'],
      ['v2.8.0', 'v2.8.0'],
      null,
    ],
  ])('after a refused update, the next release is: %s', (_, running, published, [to, first], next) => {
    const lastRun = createRunWithDefaults({
      id: 'r1',
      state: 'refused',
      outcome: 'refused',
      to,
      requiredRelease: first,
    });
    const found = chooseAvailableUpdate(facts(running, feed(...published), { lastRun }));
    expect(found.next?.version ?? null).toBe(next);
    if (next === null)
      expect(found.upToDate).toEqual({
        code: 'upgrade-step',
        message: expect.stringContaining(`${first} must be installed before`),
      });
  });
});
