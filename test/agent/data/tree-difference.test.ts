import { expect, it } from 'vitest';
import { countDifferences } from '../../../src/agent/data/tree-difference.ts';

const before = [
  'drwxr-xr-x 0/0               0 2026-11-24 17:05:08.344913702 ./',
  '-rw-r--r-- 0/0              12 2026-11-24 17:05:08.338197139 ./a b',
  '-rw-r--r-- 1000/1000         5 1969-07-20 20:17:40.25 ./new\\nline',
  'lrwxrwxrwx 0/0               0 2026-11-24 17:05:08.1 ./s -> a b',
  'hrw-r--r-- 0/0               0 2026-11-24 17:05:08.338197139 ./z link to ./a b',
  'crw-r--r-- 0/0             1,3 2026-11-24 17:05:08.5 ./null',
  '',
];
const changed = (from: string, to: string) => before.map((line) => line.replace(from, to));

it.each<[string, string[], [added: number, gone: number, changed: number]]>([
  ['nothing', before, [0, 0, 0]],
  ['wider columns', before.map((line) => line.replace('/0  ', '/0 ')), [0, 0, 0]],
  ["a directory's time", changed('17:05:08.344913702', '17:06:00'), [0, 0, 0]],
  ["a directory's mode", changed('drwxr-xr-x', 'drwxr-sr-x'), [0, 0, 1]],
  ['a size', changed(' 12 ', ' 13 '), [0, 0, 1]],
  ['a time', changed('20:17:40.25', '20:17:40.26'), [0, 0, 1]],
  ['an owner', changed('1000/1000', '1000/1001'), [0, 0, 1]],
  ['where a link leads', changed('-> a b', '-> c'), [0, 0, 1]],
  ['what a name is of', changed('link to ./a b', 'link to ./b'), [0, 0, 1]],
  ['a device', changed('1,3', '1,5'), [0, 0, 1]],
  ['a name', changed('./null', './nul'), [1, 1, 0]],
  ['a kind', changed('-rw-r--r-- 0/0', 'prw-r--r-- 0/0'), [0, 0, 1]],
  ['all gone', [], [0, 6, 0]],
])('%s', (_, now, [added, gone, differing]) => {
  expect(countDifferences(before, now)).toEqual({ added, gone, changed: differing });
});

it('takes the place of the old one in full', () => {
  expect(countDifferences([], before)).toEqual({ added: 6, gone: 0, changed: 0 });
});
