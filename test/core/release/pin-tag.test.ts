import { describe, expect, it } from 'vitest';
import {
  parsePinTag,
  parseVersionLabel,
  versionRangeOf,
  versionTextOf,
} from '../../../src/core/release/pin-tag.ts';

describe('parsePinTag', () => {
  // Tags that products publish: Home Assistant, authentik, Paperless-ngx, n8n, Nextcloud, Immich, Plausible, Gitea,
  // Pi-hole, BookStack, WordPress, GitLab, Sonarr, SonarQube, Collabora.
  it.each([
    ['2025.8.4', '2025.8.4', '', ''],
    ['32.0.1-apache', '32.0.1', '', '-apache'],
    ['v2.2.0-cuda', '2.2.0', 'v', '-cuda'],
    ['2025.08.0', '2025.08.0', '', ''],
    ['v25.07.1', '25.07.1', 'v', ''],
    ['6.8.2-php8.3-apache', '6.8.2', '', '-php8.3-apache'],
    ['4.0.15.2941', '4.0.15.2941', '', ''],
    ['25.04.5.1.1', '25.04.5.1.1', '', ''],
    ['v1.6.0-canary.10-alpine', '1.6.0-canary.10', 'v', '-alpine'],
  ])('parses %s as a release', (text, version, prefix, suffix) => {
    expect(parsePinTag(text)).toEqual({ kind: 'release', text, version, prefix, suffix });
  });

  it.each([
    // Umami, Firefly III, Zabbix, and a tag with several words.
    ['postgresql-v2.15.1', 'release', 'postgresql-', '2.15.1', 'v', ''],
    ['version-6.1.21', 'release', 'version-', '6.1.21', '', ''],
    ['server-cuda-1.2.3-rootless', 'release', 'server-cuda-', '1.2.3', '', '-rootless'],
    // A part of a version only follows a word that announces a version.
    ['release-10.11', 'part', 'release-', '10.11', '', ''],
    ['version-v6.1-alpine', 'part', 'version-', '6.1', 'v', '-alpine'],
  ])('parses %s as a %s after a word', (text, kind, lead, version, prefix, suffix) => {
    expect(parsePinTag(text)).toEqual({ kind, text, lead, version, prefix, suffix });
    // In a label, such a text refers to the base system as often as to the product.
    expect(parseVersionLabel(text)).toBeNull();
  });

  it.each([
    ['2', '2', '', ''],
    ['v2', '2', 'v', ''],
    ['2025.10', '2025.10', '', ''],
    ['1.24-rootless', '1.24', '', '-rootless'],
    ['24.04', '24.04', '', ''],
  ])('parses %s as a part of a version', (text, version, prefix, suffix) => {
    expect(parsePinTag(text)).toEqual({ kind: 'part', text, version, prefix, suffix });
  });

  it.each([
    ['release', ''],
    ['release-cuda', '-cuda'],
    ['stable-apache', '-apache'],
  ])('parses %s as a word', (text, suffix) => {
    expect(parsePinTag(text)).toEqual({ kind: 'word', text, suffix });
  });

  it.each([
    ...'edge main release-11 release-10.11-rc1 alpine-3.20 ubuntu-24.04 beta-1.2.3'.split(' '),
    ...['alpine-7.0-latest', 'php8.3-apache', 'Stable', ''],
  ])('parses "%s" as any other tag', (text) => {
    expect(parsePinTag(text)).toEqual({ kind: 'other', text });
  });

  it.each([
    // SearXNG: the commit may begin with a letter or a digit.
    ...['2025.10.12-f00ba4e1d', '2025.10.12-12345678a'],
    ...'RELEASE.2025-10-15T17-29-55Z 2025-10-15 main-2025.10.12 20251015 250707 0123'.split(' '),
    ...'1.2.3-20251015 jammy-20251015 2.1.0-ls47 6.5.1-12 1.42.1.10060-4e8b05daf v1.2.3-rc.1'.split(' '),
    ...'2025.10.0b3 1.2.3.4.5.6 1a2b3c4d5e6f 99999999999999999999.0.0'.split(' '),
  ])('parses %s as a tag without a version', (text) => {
    expect(parsePinTag(text)).toEqual({ kind: 'unversioned', text });
  });
});

describe('parseVersionLabel', () => {
  it.each([
    ['2025.8.4', '2025.8.4'],
    ['v2.2.0', '2.2.0'],
    ['1.24.6-rootless', '1.24.6'],
    ['1.6.0-canary.10', '1.6.0-canary.10'],
    // The version of the base system of an image.
    ['24.04', null],
    ['stable', null],
    ['2.1.0-ls47', null],
    ['', null],
    [undefined, null],
  ])('returns for %j the version %j', (label, version) => {
    expect(parseVersionLabel(label)).toBe(version);
  });
});

it.each([
  ['v1.144.1-cuda', '1.144.1'],
  ['1.6.0-canary.10', '1.6.0-canary.10'],
  ['v1.2.3-rc.1-alpine', '1.2.3-rc.1'],
  ['1.2.3-beta2', '1.2.3-beta2'],
  ['2.1.0-ls47', '2.1.0'],
  ['2025.10', '2025.10'],
  ['2025-10-15', '2025'],
  ['postgresql-v2.16.0', '2.16.0'],
  ['version-6.1.21-ls12', '6.1.21'],
  // Two numbers after a word may be the version of anything.
  ['alpine-3.20', 'alpine'],
  ['release-10.11', 'release'],
  ['', ''],
])('versionTextOf finds in %j the text %j', (tag, version) => expect(versionTextOf(tag)).toBe(version));

it.each([
  ['postgresql-v2.15.1-alpine', '2.15.1'],
  ['v1.6.0-canary.4', '1.6.0-canary.4'],
  ['v2', '2'],
  ['release-cuda', 'release-cuda'],
  ['2.1.0-ls47', '2.1.0-ls47'],
])('versionRange finds in %s the text %s', (tag, version) =>
  expect(tag.slice(...versionRangeOf(parsePinTag(tag)))).toBe(version),
);
