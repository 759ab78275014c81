import { describe, expect, it } from 'vitest';
import {
  compareSharedVersionNumbers,
  compareVersions,
  isMajorVersionChange,
  truncateVersion,
} from '../../../src/core/release/compare-versions.ts';

describe('compareVersions', () => {
  it.each([
    [
      'by semantic version precedence, as docs/contract.md 3.12 says',
      '0.9.9 1.5.9 1.5.10 1.6.0-canary.2 1.6.0-canary.10 1.6.0 1.10.0 2.0.0-canary.0 2.0.0',
    ],
    [
      'by their numbers, however many they have',
      '2 2.0.1 2.5 2.10 31.0.9 2025.08.3 2025.8.4 2025.08.05 2025.10 2025.10.1.2',
    ],
  ])('orders %s', (_, versions) => {
    const inOrder = versions.split(' ');
    for (const [i, a] of inOrder.entries()) {
      for (const [j, b] of inOrder.entries())
        expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(i - j)]);
    }
  });
});

describe('isMajorChange', () => {
  it.each([
    ['1.4.2', '1.5.0', false],
    ['1.4.2', '2.0.0', true],
    ['2.0.0-canary.1', '2.0.0', false],
    ['1.9.0', '2.0.0-canary.1', true],
    ['2025.12.5', '2026.1.0', false],
    ['4.2.0', '2025.1.0', true],
    ['31', '32', true],
    ['4.0.15.2941', '5.0.0.1', true],
  ])('from %s to %s is %s', (from, to, expected) => {
    expect(isMajorVersionChange(from, to)).toBe(expected);
  });
});

describe('versions with a different number of parts', () => {
  it.each([
    ['2025.10', '2025.10.3', 0],
    ['2025.10.3', '2025.10', 0],
    ['2025.9.4', '2025.10', -1],
    ['3', '2.9.9', 1],
    ['1.6.0-canary.2', '1.6.0', -1],
    ['1.6.0-canary.2', '1.6', 0],
    ['v1.6.0', '1.6.1', -1],
    ['v2025.08', '2025.10.1', -1],
    ['2', 'v1.9', 1],
  ])('are compared by the parts that both versions have: %s and %s: %i', (a, b, expected) => {
    expect(Math.sign(compareSharedVersionNumbers(a, b))).toBe(expected);
  });

  it('are shortened without reformatting their parts', () =>
    expect(truncateVersion('2025.08.4', 2)).toBe('2025.08'));
});
