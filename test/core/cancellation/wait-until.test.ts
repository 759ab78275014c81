import { beforeEach, expect, it, vi } from 'vitest';
import { sleepFor, waitUntil } from '../../../src/core/cancellation/wait-until.ts';

beforeEach(() => {
  vi.useFakeTimers().setTimerTickMode('nextTimerAsync');
  return () => vi.useRealTimers();
});

/** Waits for the third observation. Returns the result and the time of each observation. */
async function wait(options: { deadlineMs?: number; signal?: AbortSignal }) {
  const observed: number[] = [];
  const observe = async () => observed.push(performance.now());
  const evaluate = (count: number, isLate: boolean) => (isLate ? 'late' : count === 3 ? 'done' : undefined);
  const result = await waitUntil(observe, evaluate, { pause: 500, ...options }).catch(
    (error: Error) => error.message,
  );
  return [result, observed.map((at) => at - (observed[0] ?? 0))];
}

it.each<[string, number | undefined, string, number[]]>([
  ['until there is a result', undefined, 'done', [0, 500, 1000]],
  ['until the deadline', 500, 'late', [0, 500]],
  ['once after the deadline', 0, 'late', [0]],
])('waitUntil observes %s', async (_, deadlineMs, result, times) => {
  expect(await wait({ ...(deadlineMs !== undefined && { deadlineMs }) })).toEqual([result, times]);
});

it('waitUntil rejects with the reason of the signal, without another observation', async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error('cancelled')), 700);
  expect(await wait({ signal: stop.signal })).toEqual(['cancelled', [0, 500]]);
  expect(vi.getTimerCount()).toBe(0);
});

it('waitUntil calls the given pause function between two observations', async () => {
  const paused: number[] = [];
  const next = async (count: number) => void paused.push(count);
  let count = 0;
  await waitUntil(
    async () => ++count,
    (seen) => seen === 3 || undefined,
    { pause: next },
  );
  expect(paused).toEqual([1, 2]);
});

it('sleepFor returns if the signal is aborted before or during the pause', async () => {
  const stop = new AbortController();
  const ended = sleepFor(60_000, stop.signal);
  stop.abort();
  await ended;
  await sleepFor(60_000, stop.signal);
  expect(performance.now()).toBeLessThan(60_000);
});
