import { describe, expect, it } from 'vitest';
import {
  generateTimeWindows,
  isInTimeWindow,
  type TimeWindowOccurrence,
  type WeeklyTimeWindow,
} from '../../../src/server/contract/time-window.ts';

const night = (timeZone: string, from = '02:00', to = '05:00'): WeeklyTimeWindow => ({
  from,
  to,
  timeZone,
  days: [],
});

function first(schedule: WeeklyTimeWindow, moment: string, count = 1): string[] {
  const windows = generateTimeWindows(schedule, Date.parse(moment));
  return Array.from({ length: count }, () => {
    const { begin, end } = windows.next().value as TimeWindowOccurrence;
    return `${shown(begin)} ${shown(end)}`;
  });
}
const shown = (ms: number) => new Date(ms).toISOString().replace(/:00\.000Z$/, 'Z');

describe('the first window that ends after a moment', () => {
  it.each<[string, string, string, string, string, string]>([
    // zone, from, to, moment, begin, end
    ['UTC', '02:00', '05:00', '2026-11-25T01:59:59Z', '2026-11-25T02:00Z', '2026-11-25T05:00Z'],
    ['UTC', '02:00', '05:00', '2026-11-25T05:00:00Z', '2026-11-26T02:00Z', '2026-11-26T05:00Z'],
    // Over midnight.
    ['UTC', '23:00', '01:30', '2026-11-25T00:30:00Z', '2026-11-24T23:00Z', '2026-11-25T01:30Z'],
    // A whole day.
    ['UTC', '02:00', '02:00', '2026-11-25T01:00:00Z', '2026-11-24T02:00Z', '2026-11-25T02:00Z'],
    // The local day is not the day in UTC.
    ['Pacific/Pago_Pago', '02:00', '05:00', '2026-11-25T17:00:00Z', '2026-11-26T13:00Z', '2026-11-26T16:00Z'],
    // In Berlin, 02:00 to 03:00 is skipped on 29 March 2026, and repeated on 25 October 2026.
    ['Europe/Berlin', '02:30', '05:00', '2026-03-28T12:00:00Z', '2026-03-29T01:00Z', '2026-03-29T03:00Z'],
    ['Europe/Berlin', '02:10', '02:50', '2026-03-28T12:00:00Z', '2026-03-29T01:00Z', '2026-03-29T01:40Z'],
    ['Europe/Berlin', '02:30', '05:00', '2026-10-24T12:00:00Z', '2026-10-25T00:30Z', '2026-10-25T04:00Z'],
    ['Europe/Berlin', '02:10', '02:50', '2026-10-24T12:00:00Z', '2026-10-25T00:10Z', '2026-10-25T00:50Z'],
    // The repeated hour does not belong to the window of the first hour.
    ['Europe/Berlin', '02:10', '02:50', '2026-10-25T01:20:00Z', '2026-10-26T01:10Z', '2026-10-26T01:50Z'],
    // The whole day of 30 December 2011 was skipped.
    ['Pacific/Apia', '02:00', '05:00', '2011-12-30T09:00:00Z', '2011-12-30T10:00Z', '2011-12-30T13:00Z'],
  ])('is computed for %s, %s to %s, at %s', (zone, from, to, moment, begin, end) => {
    expect(first(night(zone, from, to), moment)).toEqual([`${begin} ${end}`]);
  });

  it('begins on a configured day, and may end on the next day', () => {
    // 25 November 2026 is a Wednesday.
    const schedule = { ...night('UTC', '23:00', '01:00'), days: ['fri', 'sun'] as const };
    expect(first(schedule, '2026-11-25T00:30:00Z', 3)).toEqual([
      '2026-11-27T23:00Z 2026-11-28T01:00Z',
      '2026-11-29T23:00Z 2026-11-30T01:00Z',
      '2026-12-04T23:00Z 2026-12-05T01:00Z',
    ]);
    expect(first(schedule, '2026-11-28T00:30:00Z')).toEqual(['2026-11-27T23:00Z 2026-11-28T01:00Z']);
  });
});

const at = (clock: string) => new Date(`2026-11-21T${clock}:00`).getTime();

it.each([
  ['02:00', '05:00', '01:59', false],
  ['02:00', '05:00', '02:00', true],
  ['02:00', '05:00', '05:00', false],
  ['23:00', '01:00', '23:30', true],
  ['23:00', '01:00', '01:00', false],
  ['04:00', '04:00', '12:00', true],
])(
  'reports whether a time is in the window from %s to %s in the time zone of the server, at %s: %s',
  (from, to, clock, is) => expect(isInTimeWindow({ from, to }, at(clock))).toBe(is),
);
