import { describe, expect, it } from 'vitest';
import {
  type Channel,
  channelOf,
  findNewestRelease,
  isNewerVersion,
  isRequestableTarget,
  type Release,
  updateTargetOf,
} from '../../../src/core/release/channel.ts';

const release = (version: string): Release => ({ version, url: null, notes: null, publishedAt: null });

/** The release offered to an instance: the newest of its channel, if it is newer than the running version. */
function offered(running: string, channel: Channel, published: readonly string[]): string | null {
  const newest = findNewestRelease(channel, published.map(release));
  return newest && isNewerVersion(newest.version, running) ? newest.version : null;
}

describe('channelOf', () => {
  it.each([
    ['v1.6.0', 'stable'],
    ['v1.6.0-canary.2', 'canary'],
    ['1.6.0', null],
    ['v1.6.0-alpine', null],
    ['v1.6.0-rc.1', null],
    ['v1.6.0-canary.02', null],
    ['v1.6', null],
    ['v1.6.0\n', null],
    ['latest', null],
  ])('of %j is %s', (version, expected) => {
    expect(channelOf(version)).toBe(expected);
  });
});

describe('the newest release of a channel', () => {
  const all = ['v1.4.2', 'v1.5.0', 'v1.6.0-canary.2', 'v1.6.0-canary.10', 'v1.6.0-canary.9'];

  it.each<[string, string, Channel, readonly string[], string | null]>([
    // On one channel.
    ['the next release', 'v1.4.2', 'stable', all, 'v1.5.0'],
    ['a fix of an old line came last', 'v1.5.0', 'stable', [...all, 'v1.4.3'], null],
    ['ten comes after nine', 'v1.5.9', 'stable', ['v1.5.9', 'v1.5.10'], 'v1.5.10'],
    ['canary.10 after canary.9', 'v1.6.0-canary.9', 'canary', all, 'v1.6.0-canary.10'],
    // From stable to canary.
    ['to the canary of the next release', 'v1.5.0', 'canary', all, 'v1.6.0-canary.10'],
    ['the release is ahead of its canaries', 'v1.6.0', 'canary', [...all, 'v1.6.0'], null],
    ['no canary is published', 'v1.4.2', 'canary', ['v1.4.2', 'v1.5.0'], null],
    // From canary to stable.
    ['nothing while stable is behind', 'v1.6.0-canary.2', 'stable', all, null],
    ['the release of the running canary', 'v1.6.0-canary.2', 'stable', [...all, 'v1.6.0'], 'v1.6.0'],
    [
      'nothing while only that of another canary is out',
      'v1.7.0-canary.0',
      'stable',
      [...all, 'v1.6.0'],
      null,
    ],
    ['its fix, where the release itself was missed', 'v1.6.0-canary.10', 'stable', ['v1.6.1'], 'v1.6.1'],
    // Running and published versions in any format.
    ["a build of one's own", 'dev', 'stable', all, null],
    ["somebody's release candidate", 'v1.4.0-rc.1', 'stable', all, null],
    ['without its v', '1.4.2', 'stable', all, 'v1.5.0'],
    ['a variant of a canary', 'v1.6.0-canary.9-alpine', 'canary', all, 'v1.6.0-canary.10'],
    ['published as a variant', 'v1.4.2', 'stable', ['v1.5.0-alpine'], null],
    ['nothing published', 'v1.4.2', 'stable', [], null],
  ])(
    'is offered if it is newer than the running version: %s: %s on %s',
    (_, running, channel, published, expected) => {
      expect(offered(running, channel, published)).toBe(expected);
      expect(offered(running, channel, published.toReversed())).toBe(expected);
    },
  );
});

describe('isRequestableTarget', () => {
  it.each(['v1.5.0', 'v1.5.0-canary.1', 'canary'])('accepts %s', (text) =>
    expect(isRequestableTarget(text)).toBe(true),
  );

  it.each(['1.5.0', 'latest', 'v1.5', 'v1.5.0-alpine', 'v1.5.0\n', 'v99999999999999999999.0.0'])(
    'rejects %j',
    (text) => expect(isRequestableTarget(text)).toBe(false),
  );
});

describe('targetFor', () => {
  it.each([
    ['v1.6.0', 'v1.6.0'],
    ['v1.6.0-canary.10', 'canary'],
  ])('returns for %s the target %s', (version, expected) => {
    expect(updateTargetOf(version)).toBe(expected);
  });
});
