import { describe, expect, it } from 'vitest';
import { goalFor, type OfferFacts, offer } from '../../../src/instance/offer/offer.ts';
import type { Channel, Release } from '../../../src/release/channel.ts';

const releases = (...versions: string[]): Release[] =>
  versions.map((version) => ({ version, url: null, notes: null, publishedAt: null }));

function known(
  version: string,
  channel: Channel,
  published: string[],
  more: Partial<OfferFacts> = {},
): OfferFacts {
  return { version, channel, releases: releases(...published), checkedAt: new Date(0), lag: null, ...more };
}

describe('what is offered, by channel and what runs', () => {
  const published = ['v1.5.0', 'v1.6.0-canary.9', 'v1.4.2', 'v1.6.0-canary.10', 'v1.6.0-canary.2'];
  it.each<[string, Channel, string[], string | null, string | null]>([
    // running, channel, published, latest, what is offered
    ['v1.4.2', 'stable', published, 'v1.5.0', 'v1.5.0'],
    ['v1.5.0', 'stable', published, 'v1.5.0', null],
    ['v1.4.2', 'canary', published, 'v1.6.0-canary.10', 'v1.6.0-canary.10'],
    ['v1.6.0-canary.9', 'canary', published, 'v1.6.0-canary.10', 'v1.6.0-canary.10'],
    ['v1.6.0-canary.10', 'canary', published, 'v1.6.0-canary.10', null],
    ['v1.6.0-canary.2', 'canary', ['v1.6.0-canary.9'], 'v1.6.0-canary.9', 'v1.6.0-canary.9'],
    // Back to stable: no downgrade, quiet until a stable release is newer than the running canary.
    ['v1.6.0-canary.9', 'stable', published, 'v1.5.0', null],
    ['v1.6.0-canary.10', 'stable', [...published, 'v1.5.9'], 'v1.5.9', null],
    ['v1.6.0-canary.10', 'stable', [...published, 'v1.6.0'], 'v1.6.0', 'v1.6.0'],
    // A canary channel offers builds, not the releases that are cut from builds that ran already.
    ['v1.6.0-canary.10', 'canary', [...published, 'v1.6.0'], 'v1.6.0-canary.10', null],
    ['v1.6.0', 'canary', [...published, 'v1.6.0'], 'v1.6.0-canary.10', null],
    ['v1.6.0', 'canary', [...published, 'v1.7.0-canary.1'], 'v1.7.0-canary.1', 'v1.7.0-canary.1'],
    ['v1.4.2', 'stable', [], null, null],
    ['v1.4.2', 'stable', ['v1.6.0-canary.1'], null, null],
    ['main-4f2a', 'stable', published, 'v1.5.0', null],
  ])('%s on %s with %j: latest %s, offered %s', (version, channel, list, latest, offered) => {
    const given = known(version, channel, list);
    const found = offer(given);
    expect(found.latest?.version ?? null).toBe(latest);
    expect(found.upToDate === null ? latest : null).toBe(offered);
    const goal = goalFor(null, given);
    expect('upToDate' in goal ? null : goal.to).toBe(offered);
  });
});

describe('why nothing is offered', () => {
  it.each<[string, OfferFacts, RegExp]>([
    ['the newest runs', known('v1.5.0', 'stable', ['v1.5.0']), /^v1\.5\.0 is the newest release/],
    [
      'a canary is ahead',
      known('v1.6.0-canary.9', 'stable', ['v1.5.0']),
      /^v1\.6\.0-canary\.9 is ahead of v1\.5\.0/,
    ],
    [
      'the tag lags behind',
      known('v1.4.2', 'stable', ['v1.5.0'], { lag: { version: 'v1.5.0', reference: 'acme/svc:latest' } }),
      /acme\/svc:latest does not lead to it yet/,
    ],
    ['no feed', known('v1.4.2', 'stable', [], { releases: null }), /switched off/],
    ['not read yet', known('v1.4.2', 'stable', [], { checkedAt: null }), /not been read yet/],
    ['nothing there', known('v1.4.2', 'canary', ['v1.5.0']), /no release is published on the channel canary/],
    ['no release runs', known('main', 'stable', ['v1.5.0']), /cannot be told/],
  ])('%s', (_, given, sentence) => {
    expect(offer(given).upToDate).toMatch(sentence);
    expect(goalFor(null, given)).toEqual({ upToDate: expect.stringMatching(sentence) });
  });

  it('is another release than the one that the tag did not reach', () => {
    const lag = { version: 'v1.5.0', reference: 'acme/svc:latest' };
    expect(offer(known('v1.4.2', 'stable', ['v1.5.0', 'v1.5.1'], { lag })).upToDate).toBeNull();
  });
});

describe('where a named target leads', () => {
  const given = known('v1.5.0', 'stable', ['v1.6.0', 'v1.7.0-canary.3']);
  it.each<[string, OfferFacts, object]>([
    ['v1.6.0', given, { target: 'v1.6.0', to: 'v1.6.0' }],
    ['v1.9.9', given, { target: 'v1.9.9', to: 'v1.9.9' }],
    ['canary', given, { target: 'canary', to: 'v1.7.0-canary.3' }],
    ['canary', known('v1.5.0', 'stable', []), { target: 'canary', to: 'canary' }],
    ['v1.5.0', given, { upToDate: 'v1.5.0 runs already' }],
    ['v1.4.0', given, { upToDate: expect.stringContaining('no downgrade') }],
    ['v1.4.0', known('main', 'stable', []), { target: 'v1.4.0', to: 'v1.4.0' }],
  ])('%s', (named, from, goal) => {
    expect(goalFor(named, from)).toEqual(goal);
  });

  it('is canary where a canary build is the newest of the channel', () => {
    expect(goalFor(null, { ...given, channel: 'canary' })).toEqual({
      target: 'canary',
      to: 'v1.7.0-canary.3',
    });
  });
});
