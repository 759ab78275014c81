import { describe, expect, it } from 'vitest';
import { compareVersions, isMajorChange } from '../../src/release/order.ts';

describe('compareVersions', () => {
  it('orders by semantic version precedence, as docs/contract.md 3.12 says', () => {
    const inOrder = [
      '0.9.9',
      '1.5.9',
      '1.5.10',
      '1.6.0-canary.2',
      '1.6.0-canary.10',
      '1.6.0',
      '1.10.0',
      '2.0.0-canary.0',
      '2.0.0',
    ];
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
    ['2.0.0', '1.4.2', true],
    ['2.0.0-canary.1', '2.0.0', false],
    ['1.9.0', '2.0.0-canary.1', true],
    ['9.0.0', '10.0.0', true],
  ])('%s to %s: %s', (from, to, expected) => {
    expect(isMajorChange(from, to)).toBe(expected);
  });
});
