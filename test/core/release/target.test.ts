import { describe, expect, it } from 'vitest';
import { parseTarget } from '../../../src/core/release/target.ts';

describe('parseTarget', () => {
  it.each([
    ['v1.5.0', '1.5.0', ''],
    ['32.0.1-apache', '32.0.1', '-apache'],
    ['4.0.16.2944', '4.0.16.2944', ''],
    ['2025.11', '2025.11', ''],
    ['32-apache', '32', '-apache'],
  ])('parses %s as a release', (tag, version, suffix) => {
    expect(parseTarget(tag)).toEqual({ kind: 'release', version, tag, suffix });
  });

  it('keeps the word before a version', () =>
    expect(parseTarget('postgresql-v2.16.0')).toEqual({
      kind: 'release',
      version: '2.16.0',
      tag: 'postgresql-v2.16.0',
      suffix: '',
      lead: 'postgresql-',
    }));

  it('parses canary as a kind of its own', () =>
    expect(parseTarget('canary')).toEqual({ kind: 'canary', tag: 'canary' }));

  it.each(['release', 'stable', 'latest', 'nightly', 'release-cuda', 'release-11', 'alpine-3.20'])(
    'parses %s as a word',
    (tag) => {
      expect(parseTarget(tag)).toEqual({ kind: 'word', tag });
    },
  );

  it.each(['RELEASE.2025-10-15T17-29-55Z', '2025-10-15', '2.1.0-ls47', '2025.11.3-a1b2c3d4e'])(
    'parses %s as a tag without a version',
    (tag) => {
      expect(parseTarget(tag)).toEqual({ kind: 'unversioned', tag });
    },
  );

  it.each([
    ...['', 'abc def', 'v1.5.0\n', 'a'.repeat(129)],
    ...'1.2.3.4.5.6 $(reboot) v1.5.0;ls -v1.5.0 svc:v1.5.0 v1.5.0@sha256:00'.split(' '),
    ...'v1.5.0-canary.1 v1.5.0-rc.1 2025.10.0-beta1 v1.2.3+build'.split(' '),
  ])('rejects %j', (text) => {
    expect(parseTarget(text)).toBeNull();
  });
});
