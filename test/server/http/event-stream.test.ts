import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ProgressEvent } from '../../../src/core/progress/event.ts';
import { createEventStream, keepAliveIntervalMs } from '../../../src/server/http/event-stream.ts';
import { WatchedRecord } from '../run/watched-record.ts';
import { follow } from './follow-events.ts';
import { record } from './memory-service.ts';

const line = (message: string, phase: ProgressEvent['phase'] = 'pull', percent?: number): ProgressEvent => ({
  time: '2026-11-21T10:42:08.000Z',
  level: 'info',
  phase,
  ...(percent === undefined ? {} : { percent }),
  message,
});

function rig(lastEventId: string | null = null, run = record('run1', WatchedRecord) as WatchedRecord) {
  const closing = new AbortController();
  const stream = createEventStream(run, lastEventId, closing.signal);
  return {
    run,
    stream,
    close: () => closing.abort(),
    listeners: () => getEventListeners(closing.signal, 'abort').length,
  };
}

/** A record with `count` lines of the phase pull. */
function recordWith(count: number): WatchedRecord {
  const run = record('run1', WatchedRecord) as WatchedRecord;
  for (let number = 1; number <= count; number++) run.add(line(`line ${number}`));
  return run;
}

describe('the event stream of a run', () => {
  it('sends events in order, with ids', async () => {
    const { run, stream } = rig();
    const following = follow(stream);
    expect(await following.some(2)).toEqual(['retry 1000', 'run run1:0 launching']);
    run.setLaunchState('launching', 'pulling the updater', { percent: 40 });
    expect(await following.next()).toBe('run run1:0 launching');
    run.add(line('svc-updater 1.0.0', 'inspect'));
    expect(await following.some(2)).toEqual(['line run1:1 svc-updater 1.0.0', 'run run1:1 inspect']);
    run.add(line('a', 'pull', 10));
    run.add(line('b', 'pull', 20));
    expect(await following.some(3)).toEqual(['line run1:2 a', 'line run1:3 b', 'run run1:3 pull']);
    run.add(line('updated v1.4.2 → v1.5.0 in 11 s', 'done'));
    expect(await following.rest()).toEqual([
      'line run1:4 updated v1.4.2 → v1.5.0 in 11 s',
      'run run1:end updated',
      'end',
    ]);
  });

  it('sends the run again when a cancellation is requested', async () => {
    const { run, stream } = rig();
    const following = follow(stream);
    await following.some(2);
    run.setFields({ cancelRequestedBy: 'anna' });
    expect(await following.next()).toMatch(/^run run1:0 /);
    expect(following.runs.at(-1)).toMatchObject({ cancelRequestedBy: 'anna' });
    await following.cancel();
  });

  it('ends without an outcome when the server shuts down', async () => {
    const { run, stream, close, listeners } = rig();
    const following = follow(stream);
    await following.some(2);
    const rest = following.rest();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect([run.waiting, listeners()]).toEqual([1, 1]);
    close();
    expect(await rest).toEqual(['end']);
    expect([run.waiting, listeners()]).toEqual([0, 0]);
  });

  it('transmits messages with line breaks and control characters unchanged', async () => {
    const { run, stream } = rig();
    const following = follow(stream);
    await following.some(2);
    const message = 'a\nevent: run\r\n\r\ndata: {}\u2028\u0000\ud800 é 🎉';
    run.add(line(message));
    expect(await following.next()).toBe(`line run1:1 ${message}`);
  });
});

describe('a client that reconnects', () => {
  it('misses no line, wherever the connection broke', async () => {
    const whole = recordWith(40);
    whole.add(line('updated', 'done'));
    const all = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`).concat('updated');
    for (let broken = 0; broken <= 42; broken++) {
      const first = follow(rig('run1:0', whole).stream);
      const told = await first.some(broken + 2);
      await first.cancel();
      const id = told.at(-1)?.split(' ')[1] ?? '';
      const rest = await follow(rig(id, whole).stream).rest();
      const lines = [...told, ...rest].filter((one) => one.startsWith('line '));
      expect(lines.map((one) => one.replace(/^line \S+ /, ''))).toEqual(all);
    }
  });

  it('waits until a new server has read the same lines', async () => {
    const { run, stream } = rig('run1:3');
    const following = follow(stream);
    expect(await following.next()).toBe('retry 1000');
    const next = following.some(2);
    for (const message of ['a', 'b']) {
      run.add(line(message, 'inspect'));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    run.add(line('c', 'recreate'));
    // The client must not get a state older than the one it has received.
    await new Promise((resolve) => setTimeout(resolve, 5));
    run.add(line('d', 'verify'));
    expect(await next).toEqual(['run run1:3 recreate', 'line run1:4 d']);
  });

  it.each(['', 'run1', 'run1:-1', 'run1:1e3', 'run2:1', 'constructor'])(
    'with the unknown id "%s" starts like a new client',
    async (id) => {
      const following = follow(rig(id, recordWith(3)).stream);
      expect(await following.some(2)).toEqual(['retry 1000', 'run run1:3 pull']);
    },
  );
});

describe('a silent stream', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('sends a comment every 15 s', async () => {
    expect(keepAliveIntervalMs).toBe(15_000);
    const { run, stream, listeners } = rig();
    const following = follow(stream);
    await following.some(2);
    for (let round = 0; round < 3; round++) {
      let told: string | null = null;
      void following.next().then((one) => {
        told = one;
      });
      await vi.advanceTimersByTimeAsync(14_999);
      expect(told).toBeNull();
      await vi.advanceTimersByTimeAsync(1);
      expect(told).toBe('comment still here');
    }
    expect([vi.getTimerCount(), listeners(), run.waiting]).toEqual([0, 0, 0]);
  });
});
