import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findRetryAfterMs } from '../../src/feed/retry-after.ts';

const now = Date.UTC(2026, 10, 21, 10, 0, 0);
const clock = 'Sat, 21 Nov 2026 10:10:00 GMT';
const at = (seconds: number) => String(now / 1000 + seconds);

describe('findRetryAfterMs', () => {
  beforeAll(() => void vi.useFakeTimers({ now, toFake: ['Date'] }));
  afterAll(() => void vi.useRealTimers());

  it.each<[string, number, Record<string, string>, number | null]>([
    ['seconds', 429, { 'retry-after': '120' }, 120],
    ['a date', 429, { 'retry-after': 'Sat, 21 Nov 2026 10:05:00 GMT' }, 300],
    ['more than a day', 429, { 'retry-after': '9999999' }, 86_400],
    ['GitHub', 403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': at(1800) }, 1800],
    [
      'both: Retry-After is what was said last',
      429,
      { 'retry-after': '10', 'ratelimit-remaining': '0', 'ratelimit-reset': at(45) },
      10,
    ],
    ['a reset that is over', 403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': at(-5) }, 0],
    [
      'a bad token, with requests left',
      403,
      { 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': at(9) },
      null,
    ],
    ['a 403 alone', 403, {}, null],
    ['a 429 alone', 429, {}, 60],
    [
      'nonsense beside a reset',
      403,
      { 'retry-after': '-5x', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': at(7) },
      7,
    ],
    // The clock of this forge is ten minutes ahead.
    ['a date by its own clock', 429, { date: clock, 'retry-after': 'Sat, 21 Nov 2026 10:15:00 GMT' }, 300],
    [
      'a reset by its own clock',
      403,
      { date: clock, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': at(900) },
      300,
    ],
  ])('computes the wait: %s (%i)', (_, status, headers, seconds) => {
    const wait = findRetryAfterMs({ status, headers: new Headers(headers) });
    expect(wait === null ? null : wait / 1000).toBe(seconds);
  });
});
