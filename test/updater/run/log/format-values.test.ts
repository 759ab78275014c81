import { expect, it } from 'vitest';
import { countRepeatedLines, joinWithAnd } from '../../../../src/updater/run/log/format-values.ts';

it.each<[string[], string]>([
  [['app'], 'app'],
  [['app', 'worker', 'mailer'], 'app, worker and mailer'],
])('and(%j) is %j', (names, expected) => {
  expect(joinWithAnd(names)).toBe(expected);
});

it('has what a container says at each of its starts once', () => {
  const start = ['migrations run', 'lost the database'];
  expect(countRepeatedLines([...start, ...start, ...start, 'migrations run'])).toEqual([
    'migrations run (4 times)',
    'lost the database (3 times)',
  ]);
  expect(countRepeatedLines(start)).toEqual(start);
});
