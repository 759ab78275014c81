import { expect, it } from 'vitest';
import { fromTo } from '../../src/web/views/format.ts';

it.each([
  ['v1.4.2', 'v1.5.0', 'v1.4.2 → v1.5.0'],
  [null, 'v1.5.0', 'Update to v1.5.0'],
  ['v1.4.2', null, 'An update'],
  [null, null, 'An update'],
])('a run from %s to %s is told as far as it is known', (from, to, told) => {
  expect(fromTo(from, to)).toBe(told);
});
