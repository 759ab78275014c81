import { expect, it } from 'vitest';
import { formatMessageSentence } from '../../../src/wire/texts/messages.ts';
import {
  countMillisecondsBetween,
  findNearDayKeyword,
  formatAge,
  formatDuration,
  formatDurationOfSeconds,
} from '../../../src/wire/texts/times.ts';

it.each([
  [-5, '0 s', '0 s'],
  [999, '0 s', '0 s'],
  [59_999, '59 s', '59 s'],
  [65_000, '1 min 5 s', '1 min'],
  [725_000, '12 min', '12 min'],
  [3_600_000, '1 h', '1 h'],
  [3_720_000, '1 h 2 min', '1 h'],
  [47 * 3_600_000, '47 h', '47 h'],
  [260_000_000, '3 days', '3 days'],
])('formats %d ms as the duration %s and the age %s', (passed, long, short) => {
  expect([formatDuration(passed), formatAge(passed)]).toEqual([long, short]);
});

it('rounds the durations reported by the server', () => {
  expect([2.7, 0.4, 64.5].map((count) => formatDurationOfSeconds(count))).toEqual([
    '3 s',
    '0 s',
    '1 min 5 s',
  ]);
});

it('returns null if one of the two times is invalid or missing', () => {
  expect([
    countMillisecondsBetween('x', '2026-11-20T10:00:00Z'),
    countMillisecondsBetween('2026-11-20T10:00:00Z', null),
  ]).toEqual([null, null]);
});

it.each([
  ['2026-11-20T10:00Z', '2026-11-20T14:00Z', 'today'],
  ['2026-11-20T10:00Z', '2026-11-20T22:00Z', 'tonight'],
  ['2026-11-20T10:00Z', '2026-11-21T02:00Z', 'tonight'],
  ['2026-11-20T01:00Z', '2026-11-21T02:00Z', 'tomorrow'],
  ['2026-11-20T10:00Z', '2026-11-21T09:00Z', 'tomorrow'],
  ['2026-11-20T10:00Z', '2026-11-22T02:00Z', null],
])('at %s, calls the time %s %s', (now, at, word) => {
  expect(findNearDayKeyword(Date.parse(at), Date.parse(now), 'UTC')).toBe(word);
});

it.each([
  ['nothing is running', 'Nothing is running.'],
  ['v1 runs.', 'v1 runs.'],
  ['svc is stopped', 'svc is stopped.'],
  ["app's image is gone", "App's image is gone."],
  ['Oh?', 'Oh?'],
  ['', ''],
])('formats %j as a sentence', (message, sentence) => {
  expect(formatMessageSentence(message, 'svc')).toBe(sentence);
});
