import { describe, expect, it } from 'vitest';
import { parsePinTag } from '../../../src/core/release/pin-tag.ts';
import {
  listCompleteVersionTags,
  listPossibleTags,
  planTagUpdate,
} from '../../../src/core/release/plan-tag-update.ts';
import { parseTarget, type ReleaseOrCanaryTarget } from '../../../src/core/release/target.ts';

const goal = (text: string): ReleaseOrCanaryTarget => {
  const target = parseTarget(text);
  if (target?.kind !== 'release' && target?.kind !== 'canary') throw new Error(`${text} is no goal`);
  return target;
};
const release = (text: string) => {
  const target = goal(text);
  if (target.kind !== 'release') throw new Error(`${text} is no release`);
  return target;
};

/** The new tag, or why the old tag is not updated. */
const moved = (from: string, to: string): string => {
  const result = planTagUpdate(parsePinTag(from), goal(to));
  return result.kind === 'moved' ? `→ ${result.tag}` : result.kind;
};

describe('planTagUpdate', () => {
  it.each([
    ['v1.4.2', 'v1.5.0', '→ v1.5.0'],
    ['v1.6.0-canary.2', 'v1.6.0', '→ v1.6.0'],
    ['canary', 'v1.5.0', '→ v1.5.0'],
    ['v1.4.2', 'canary', '→ canary'],
    ['latest', 'canary', '→ canary'],
    ['latest', 'v1.5.0', 'stays'],
    ['main', 'v1.5.0', 'stays'],
    ['2025.08.0', '2025.08.1', '→ 2025.08.1'],
    ['31.0.9-apache', '32.0.1', '→ 32.0.1-apache'],
    ['31.0.9-apache', '32.0.1-apache', '→ 32.0.1-apache'],
    ['31.0.9-apache', '32.0.1-fpm', 'variant'],
    ['31.0.9', '32.0.1-apache', 'variant'],
    ['4.0.15.2941', '4.0.16.2944', '→ 4.0.16.2944'],
    ['4.0.15.2941', '4.0.16', 'short'],
    ['1', '2.5.1', '→ 2'],
    ['2025.10', '2025.11.2', '→ 2025.11'],
    ['31-apache', '32-apache', '→ 32-apache'],
    ['2', '2.5.1', 'stays'],
    ['2025.10', '2025.10.3', 'stays'],
    ['2025.10', '2025.9.4', 'older'],
    ['2.5', '3', 'short'],
    ['2', 'canary', 'stays'],
    ['stable', '2025.8.4', 'stays'],
    ['release-cuda', 'v2.2.0', 'stays'],
    ['release-cuda', 'v2.2.0-openvino', 'variant'],
    ['postgresql-v2.15.1', '2.16.0', '→ postgresql-v2.16.0'],
    ['postgresql-v2.15.1', 'postgresql-v2.16.0', '→ postgresql-v2.16.0'],
    ['postgresql-v2.15.1', 'mysql-v2.16.0', 'variant'],
    ['latest', 'mysql-v2.16.0', 'variant'],
    ['alpine-7.0.5', '7.2', 'short'],
    ['release-10.11', '10.12', '→ release-10.12'],
    ['release-10.11', 'release-11.0', '→ release-11.0'],
    ['release-10.11', '10.11.4', 'stays'],
    ['release-10.11', '11', 'short'],
    ['release-10.11', 'version-11.0', 'variant'],
    ['2025.10.12-f00ba4e1d', '2025.11.3', 'unversioned'],
    ['RELEASE.2025-10-15T17-29-55Z', 'v1.0.0', 'unversioned'],
    ['2025-10-15', '2025.11.1', 'unversioned'],
  ])('updates %s to the target %s: %s', (from, to, expected) => {
    expect(moved(from, to)).toBe(expected);
  });
});

describe('the possible tags of a release', () => {
  it.each([
    ['latest', 'v1.5.0', ['v1.5.0', '1.5.0']],
    ['2', '2.5.1', ['2.5.1', 'v2.5.1']],
    ['31-apache', '32.0.1', ['32.0.1-apache', 'v32.0.1-apache']],
    ['stable', '32.0.1-apache', ['v32.0.1-apache', '32.0.1-apache']],
    ['release-cuda', 'v2.2.0', ['v2.2.0-cuda', '2.2.0-cuda']],
    ['alpine-7.0.5', '7.0.6', ['alpine-7.0.6', 'alpine-v7.0.6']],
    ['release-10.11', '10.11.4', ['release-10.11.4', 'release-v10.11.4', '10.11.4', 'v10.11.4']],
    ['apache', '32.0.1', ['v32.0.1-apache', '32.0.1-apache', 'v32.0.1', '32.0.1']],
    ['apache', '32.0.1-fpm', ['v32.0.1-fpm', '32.0.1-fpm']],
  ])('are derived from the tag %s and the release %s: %j', (tag, to, expected) => {
    expect(listCompleteVersionTags(parsePinTag(tag), release(to))).toEqual(expected);
  });

  it.each([
    ['1.4.2-alpine3.20', ['1.5.0-alpine3.22', '1.5.0-alpine', '1.5.0']],
    ['2.7.4-p1', ['1.5.0-p2', '1.5.0-p0', '1.5.0']],
    ['v1.4.2-php8.2-fpm', ['v1.5.0-php8.3-fpm', 'v1.5.0-php-fpm', 'v1.5.0']],
  ])('include other variants than that of %s: %j', (tag, others) => {
    const found = listPossibleTags(parsePinTag(tag), release('1.5.0'));
    expect(found).toEqual(expect.arrayContaining(others));
    expect(found.length).toBeLessThan(20);
  });

  it('are listed with complete versions first, then partial versions', () => {
    expect(listPossibleTags(parsePinTag('31.0.9-apache'), release('32'))).toEqual([
      '32.0.0-apache',
      'v32.0.0-apache',
      '32-apache',
      'v32-apache',
    ]);
    expect(listPossibleTags(parsePinTag('v2'), release('3.1.2'))).toEqual([
      'v3.1.2',
      '3.1.2',
      'v3.1',
      '3.1',
      'v3',
      '3',
    ]);
  });
});
