import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTag, parseTarget, retag, type Target, versionFromLabel } from '../../src/release/tag.ts';

const version = (text: string): Target => {
  const target = parseTarget(text);
  if (!target) throw new Error(`${text} is no target`);
  return target;
};

describe('parseTag', () => {
  it.each([
    ['v1.2.3', '1.2.3', 'v', ''],
    ['1.2.3', '1.2.3', '', ''],
    ['0.0.0', '0.0.0', '', ''],
    ['2021.10.2', '2021.10.2', '', ''],
    ['v1.6.0-canary.10', '1.6.0-canary.10', 'v', ''],
    ['1.6.0-canary.0', '1.6.0-canary.0', '', ''],
    ['1.2.3-alpine', '1.2.3', '', '-alpine'],
    ['v1.2.3-alpine3.20', '1.2.3', 'v', '-alpine3.20'],
    ['8.4.19-nginx', '8.4.19', '', '-nginx'],
    ['v1.2.3-debian-slim', '1.2.3', 'v', '-debian-slim'],
    ['v1.2.3-canary.4-alpine', '1.2.3-canary.4', 'v', '-alpine'],
    ['1.2.3-armv7', '1.2.3', '', '-armv7'],
  ])('%s is a release', (text, version, prefix, suffix) => {
    expect(parseTag(text)).toEqual({ kind: 'release', text, version, prefix, suffix });
  });

  it.each(['latest', 'canary'])('%s floats', (text) => {
    expect(parseTag(text)).toEqual({ kind: text, text });
  });

  it.each([
    '',
    'v1',
    '1.2',
    'v1.2',
    'v01.2.3',
    '1.02.3',
    '1.2.03',
    '1.2.3.4',
    'V1.2.3',
    'vv1.2.3',
    'v1.2.3-',
    'v1.2.3-1',
    'v1.2.3-canary',
    'v1.2.3-canary.',
    'v1.2.3-canary.01',
    'v1.2.3-canary.x',
    'v1.2.3-canary4',
    'v1.2.3-rc.1',
    'v1.2.3-rc1',
    '1.2.3-beta',
    '1.2.3-alpha-alpine',
    '1.2.3-alpine-canary.4',
    '1.2.3-dev',
    'v1.2.3+build',
    'v1.2.3 ',
    'v1.2.3\n',
    'Latest',
    'latest-alpine',
    'canary-alpine',
    'main',
    'stable',
    '99999999999999999999.0.0',
  ])('"%s" is another tag', (text) => {
    expect(parseTag(text)).toEqual({ kind: 'other', text });
  });
});

describe('parseTarget', () => {
  it.each([
    ['v1.5.0', { kind: 'release', version: '1.5.0', tag: 'v1.5.0' }],
    ['canary', { kind: 'canary', tag: 'canary' }],
  ])('%s', (text, target) => {
    expect(parseTarget(text)).toEqual(target);
  });

  it.each([
    '',
    '1.5.0',
    'latest',
    'v1.5',
    'v1.5.0-canary.1',
    'v1.5.0-alpine',
    'v01.5.0',
    'v1.5.0\n',
    ' v1.5.0',
    'Canary',
    'v99999999999999999999.0.0',
  ])('"%s" is none', (text) => {
    expect(parseTarget(text)).toBeNull();
  });
});

describe('retag', () => {
  it.each([
    ['v1.4.2', 'v1.5.0', 'v1.5.0'],
    ['1.4.2', 'v1.5.0', '1.5.0'],
    ['v1.4.2-alpine', 'v1.5.0', 'v1.5.0-alpine'],
    ['1.4.2-alpine', 'v1.5.0', '1.5.0-alpine'],
    ['v1.6.0-canary.2', 'v1.6.0', 'v1.6.0'],
    ['1.6.0-canary.2-alpine', 'v1.6.0', '1.6.0-alpine'],
    ['canary', 'v1.5.0', 'v1.5.0'],
    ['latest', 'v1.5.0', 'v1.5.0'],
    ['v1.4.2', 'canary', 'canary'],
    ['1.4.2-alpine', 'canary', 'canary'],
    ['latest', 'canary', 'canary'],
    ['canary', 'canary', 'canary'],
    ['main', 'v1.5.0', 'main'],
    ['main', 'canary', 'main'],
  ])('%s moved to %s is %s', (from, to, expected) => {
    expect(retag(parseTag(from), version(to))).toBe(expected);
  });

  const part = fc.nat({ max: 5000 });
  const release = fc.tuple(part, part, part).map((parts) => parts.join('.'));
  const style = fc.tuple(fc.constantFrom('v', ''), fc.constantFrom('', '-alpine', '-nginx', '-slim-arm64'));

  it('keeps the style, and there and back is where it was', () => {
    fc.assert(
      fc.property(release, release, style, (from, to, [prefix, suffix]) => {
        const there = retag(parseTag(`${prefix}${from}${suffix}`), version(`v${to}`));
        expect(there).toBe(`${prefix}${to}${suffix}`);
        expect(retag(parseTag(there), version(`v${from}`))).toBe(`${prefix}${from}${suffix}`);
      }),
    );
  });

  it('never fails, whatever the tag', () => {
    fc.assert(
      fc.property(fc.string(), (text) => typeof retag(parseTag(text), version('v1.0.0')) === 'string'),
    );
  });
});

describe('versionFromLabel', () => {
  it.each(['1.2.3', '0.10.0', '1.6.0-canary.10'])('%s, with a v or without', (version) => {
    expect(versionFromLabel(version)).toBe(version);
    expect(versionFromLabel(`v${version}`)).toBe(version);
  });
  it.each([
    undefined,
    '',
    'v',
    'vv1.2.3',
    'V1.2.3',
    'v 1.2.3',
    '1.2',
    'v1.2',
    '1.2.3-alpine',
    'v1.2.3-alpine',
    '1.2.3-rc.1',
    '01.2.3',
    '1.2.3 ',
    'v1.2.3\n',
    'v99999999999999999999.0.0',
    'latest',
  ])('%j is unknown', (label) => expect(versionFromLabel(label)).toBeNull());
});
