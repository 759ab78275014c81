import { describe, expect, it } from 'vitest';
import { parseSemverTag } from '../../../src/core/release/tag.ts';

describe('parseTag', () => {
  it.each([
    ['v1.2.3', '1.2.3', 'v', ''],
    ['1.2.3', '1.2.3', '', ''],
    ['v1.6.0-canary.10', '1.6.0-canary.10', 'v', ''],
    ['v1.2.3-canary.4-alpine', '1.2.3-canary.4', 'v', '-alpine'],
    ['1.2.3-armv7', '1.2.3', '', '-armv7'],
  ])('parses %s as a release', (text, version, prefix, suffix) => {
    expect(parseSemverTag(text)).toEqual({ kind: 'release', text, version, prefix, suffix });
  });

  it.each(['latest', 'canary'])('parses %s as a floating tag', (text) => {
    expect(parseSemverTag(text)).toEqual({ kind: text, text });
  });

  it.each([
    ...'v1 v01.2.3 1.2.3.4 V1.2.3 v1.2.3- v1.2.3-1 v1.2.3-canary v1.2.3-canary.01 v1.2.3-rc.1'.split(' '),
    ...'1.2.3-alpha-alpine 1.2.3-alpine-canary.4 v1.2.3+build latest-alpine main'.split(' '),
    ...['v1.2.3\n', '99999999999999999999.0.0'],
  ])('parses "%s" as any other tag', (text) => {
    expect(parseSemverTag(text)).toEqual({ kind: 'other', text });
  });
});
