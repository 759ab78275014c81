import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { awaitWithHeartbeat } from '../../../../src/updater/run/log/heartbeat.ts';
import { Log } from '../../../../src/updater/run/log/run-log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('logs a heartbeat after 9 s without a log line, also across waits, and not earlier', async () => {
  const lines: string[] = [];
  const log = new Log(({ message }) => lines.push(`${performance.now() / 1000} ${message}`));
  const zero = performance.now();
  const at = (seconds: number) => zero / 1000 + seconds;
  const wait = (seconds: number) =>
    awaitWithHeartbeat(log, 'waiting', new Promise((end) => setTimeout(end, seconds * 1000)));
  log.info('first');
  const first = wait(8);
  await vi.advanceTimersByTimeAsync(8_000);
  await first;
  const second = wait(20);
  await vi.advanceTimersByTimeAsync(5_000);
  log.info('between');
  await vi.advanceTimersByTimeAsync(15_000);
  await second;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(lines).toEqual([
    `${at(0)} first`,
    `${at(9)} waiting (1 s)`,
    `${at(13)} between`,
    `${at(22)} waiting (14 s)`,
  ]);
});
