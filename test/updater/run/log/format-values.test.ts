import { expect, it } from 'vitest';
import { collapseRepeatedLines, joinWithAnd } from '../../../../src/updater/run/log/format-values.ts';

it.each<[string[], string]>([
  [['app'], 'app'],
  [['app', 'worker', 'mailer'], 'app, worker and mailer'],
])('joins %j to %j', (names, expected) => {
  expect(joinWithAnd(names)).toBe(expected);
});

it('lists each log line that a container repeats at every start once, with the count', () => {
  const start = ['migrations run', 'lost the database'];
  expect(collapseRepeatedLines([...start, ...start, ...start, 'migrations run'])).toEqual([
    'migrations run (4 times)',
    'lost the database (3 times)',
  ]);
  expect(collapseRepeatedLines(start)).toEqual(start);
});
