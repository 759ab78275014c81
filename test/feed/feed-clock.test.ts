import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { createFeed, type Feed, type LogEntry } from '../../src/feed/create-feed.ts';
import { type Forge, json, startForge } from './forge.ts';

const minute = 60_000;
const now = Date.UTC(2026, 10, 21, 10, 0, 0);

let forge: Forge;
let feed: Feed;
const log: LogEntry[] = [];
let checks = 0;
let timers: MockInstance<typeof setTimeout>;

beforeEach(async () => {
  forge = await startForge();
  forge.publish('v1.5.0');
  log.length = 0;
  checks = 0;
  feed = createFeed({ url: forge.address('static') }, (entry) => log.push(entry), {
    onCheck: () => checks++,
  });
  vi.useFakeTimers({ now, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  timers = vi.spyOn(globalThis, 'setTimeout');
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  feed.close();
  await forge.close();
});

/** Timers between two checks; the timeouts of requests are shorter. */
const pauses = () => timers.mock.calls.map(([, delay]) => delay ?? 0).filter((delay) => delay > 8 * minute);

/** Waits until `count` checks have ended and the next check is scheduled. */
async function ended(count: number): Promise<void> {
  const end = process.hrtime.bigint() + 60_000_000_000n;
  while (pauses().length < count) {
    if (process.hrtime.bigint() > end) throw new Error(`${pauses().length} checks of ${count} have ended`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(pauses()).toHaveLength(count);
}

/** Advances the time until the next check has ended, and returns the elapsed time. */
async function nextCheck(): Promise<number> {
  const before = Date.now();
  const count = pauses().length;
  const requests = forge.seen.length;
  await vi.advanceTimersByTimeAsync((pauses().at(-1) ?? 0) - 1);
  expect(forge.seen).toHaveLength(requests);
  await vi.advanceTimersByTimeAsync(1);
  await ended(count + 1);
  expect(forge.seen).toHaveLength(requests + 1);
  return Date.now() - before;
}

const limited = (seconds: number) => json(429, {}, { 'retry-after': String(seconds) });

describe('the interval between checks', () => {
  it('is ten minutes with jitter', async () => {
    feed.start();
    await ended(1);
    expect(feed.checkedAt).toEqual(new Date(now));
    const gaps = [];
    for (let i = 0; i < 20; i++) gaps.push(await nextCheck());
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(9 * minute);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(11 * minute);
    expect(new Set(gaps.map(Math.round)).size).toBeGreaterThan(10);
    expect(checks).toBe(21);
    expect(feed.checkedAt).toEqual(new Date(Date.now()));
    // All responses except the first are 304.
    expect(forge.seen.map(({ status }) => status)).toEqual([200, ...gaps.map(() => 304)]);
    expect(log).toEqual([]);
  });

  it('begins at start and ends at close', async () => {
    await feed.check();
    await vi.advanceTimersByTimeAsync(60 * minute);
    expect(forge.seen).toHaveLength(1);
    feed.start();
    await ended(1);
    feed.close();
    await vi.advanceTimersByTimeAsync(60 * minute);
    expect(forge.seen).toHaveLength(2);
  });
});

describe('the interval after errors', () => {
  it('doubles up to four hours, and is ten minutes again after a successful check', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    feed.start();
    await ended(1);
    const answer = { releases: feed.releases, checkedAt: feed.checkedAt };
    forge.next(...Array.from({ length: 8 }, () => json(500, {})));
    const gaps: number[] = [];
    for (let i = 0; i < 10; i++) {
      gaps.push((await nextCheck()) / minute);
      if (i < 8) expect({ releases: feed.releases, checkedAt: feed.checkedAt }).toEqual(answer);
    }
    expect(gaps).toEqual([10, 10, 20, 40, 80, 160, 240, 240, 240, 10]);
    expect(feed.checkedAt).toEqual(new Date(Date.now()));
    expect(checks).toBe(3);
    expect(log.map(({ level }) => level)).toEqual(['warn', 'info']);
  });
});

describe('a rate limit', () => {
  it.each<[string, number, Record<string, string>, number]>([
    ['Retry-After in seconds', 429, { 'retry-after': '1800' }, 30],
    ['GitHub', 403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1000 + 3600) }, 60],
    ['a year', 429, { 'retry-after': String(365 * 86_400) }, 24 * 60],
  ])('allows no request before it expires: %s', async (_, status, headers, minutes) => {
    forge.next(json(status, {}, headers));
    feed.start();
    await ended(1);
    expect(log).toMatchObject([
      {
        level: 'warn',
        message: expect.stringContaining(`before ${new Date(now + minutes * minute).toISOString()}`),
      },
    ]);
    await vi.advanceTimersByTimeAsync(minutes * minute - 1);
    for (let i = 0; i < 3; i++) await feed.check();
    expect(forge.seen).toHaveLength(1);
    expect(pauses()[0]).toBeGreaterThanOrEqual(minutes * minute);
    expect(pauses()[0]).toBeLessThanOrEqual((minutes + 1) * minute);
    await vi.advanceTimersByTimeAsync((pauses()[0] ?? 0) - minutes * minute + 1);
    await ended(2);
    expect(forge.seen).toHaveLength(2);
    expect(feed.releases).toHaveLength(1);
  });

  it('is not affected by changes of the system clock', async () => {
    forge.next(limited(3600));
    feed.start();
    await ended(1);
    vi.setSystemTime(now + 400 * 24 * 60 * minute);
    await feed.check();
    await vi.advanceTimersByTimeAsync(60 * minute - 1);
    await feed.check();
    expect(forge.seen).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    await feed.check();
    expect(forge.seen).toHaveLength(2);
    expect(feed.failure).toBeNull();
  });
});

describe('the failure of a check', () => {
  const failure = (why: string, inMinutes: number) => ({
    message: `the releases at ${new URL(forge.origin).host} cannot be read: ${why}`,
    nextCheckAt: new Date(Date.now() + inMinutes * minute).toISOString(),
  });

  it('is reported with the time of the next check until a check succeeds', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    feed.start();
    await ended(1);
    expect(feed.failure).toBeNull();
    forge.next(json(500, {}), json(404, {}));
    await nextCheck();
    expect(feed.failure).toEqual(failure('the response has status 500', 10));
    await vi.advanceTimersByTimeAsync(3 * minute);
    expect(feed.failure).toEqual(failure('the response has status 500', 7));
    // The duration until the next check is the same after a change of the system clock.
    vi.setSystemTime(now - 24 * 60 * minute);
    expect(feed.failure).toEqual(failure('the response has status 500', 7));
    await vi.advanceTimersByTimeAsync(7 * minute);
    await ended(3);
    expect(feed.failure).toEqual(failure('the response has status 404', 20));
    await nextCheck();
    expect(feed.failure).toBeNull();
  });
});
