import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { QueuePauser } from '../../../src/server/application/queue-pauser.ts';
import { retryWithBackoff } from '../../../src/server/application/retry-with-backoff.ts';
import { defaultServerTiming } from '../../../src/server/contract/timing.ts';
import { HostDouble } from '../../rig/host-double/host-double.ts';
import { until } from '../updates/rig.ts';

const timing = { ...defaultServerTiming, retry: 10, longestRetry: 40 };
let host: HostDouble;
let closing: AbortController;
let hold: QueuePauser;
beforeEach(() => {
  host = new HostDouble();
  closing = new AbortController();
  hold = holdWith(timing);
});
const holdWith = (waits: typeof timing) =>
  new QueuePauser({ queue: host.queue, log: host.log }, waits, closing.signal);
const called = () => host.calls().map(({ part }) => part);

it('holds the queue again if an earlier call finished after its deadline', async () => {
  hold = holdWith({ ...timing, host: 40 });
  const late = host.fail('resume', { how: 'hang' });
  await expect(hold.requestState(false)).rejects.toThrow('did not respond');
  await hold.requestState(true);
  expect(host.state.isHeld).toBe(true);
  late.release();
  await until(() => called().length === 3);
  await sleep(5);
  expect([called(), host.state.isHeld]).toEqual([['resume', 'hold', 'hold'], true]);
});

it('doubles the wait before each retry, up to the maximum', async () => {
  const at: number[] = [];
  const attempt = async () => {
    at.push(performance.now());
    throw new Error('no');
  };
  const pauses = { retry: 20, longestRetry: 80 };
  expect(await retryWithBackoff(attempt, () => at.length < 6, pauses, closing.signal)).toBeNull();
  const waited = at.slice(1).map((time, number) => time - (at[number] ?? 0));
  for (const [number, least] of [20, 40, 80, 80, 80].entries()) {
    expect(waited[number]).toBeGreaterThan(least - 2);
  }
  expect(at).toHaveLength(6);
});
