import { expect, it } from 'vitest';
import { isMapped } from '../../../src/engine/cli/unreachable.ts';

it.each([
  ['         0          0 4294967295\n', false],
  ['         0     165536      65536\n', true],
  ['         0       1000          1\n         1     100000      65536\n', true],
  ['', false],
])('sees in %j whether root is another user outside: %s', (map, expected) => {
  expect(isMapped(map)).toBe(expected);
});
