import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Engine } from '../../../src/engine/cli/engine.ts';
import {
  listenForContainerChanges,
  watchContainerStops,
} from '../../../src/engine/containers/container-events.ts';
import { engineThat } from '../http-engine.ts';

async function streams() {
  const opened: ServerResponse[] = [];
  let status = 200;
  let url = new URL('http://engine');
  const engine = await engineThat((from, to) => {
    url = new URL(from.url ?? '', 'http://engine');
    to.writeHead(status).flushHeaders();
    opened.push(to);
    if (status !== 200) to.end();
  });
  const stream = async (nth = 1) => {
    await expect.poll(() => opened.length).toBe(nth);
    return opened[nth - 1] as ServerResponse;
  };
  const answer = (next: number) => {
    status = next;
  };
  return { engine, stream, answer, asked: () => url, times: () => opened.length };
}

/** Replaces timers by fake timers; sockets still work. */
function stopTheClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Longer than the timeout of a test. */
const forever = 60_000;

/** Whether a waiting caller is woken within this time without an event. */
async function wakesWithin(news: ReturnType<typeof listenForContainerChanges>, ms: number): Promise<boolean> {
  let woken = false;
  const next = news.next(forever).then(() => {
    woken = true;
  });
  await vi.advanceTimersByTimeAsync(ms);
  const was = woken;
  await vi.advanceTimersByTimeAsync(forever);
  await next;
  return was;
}

describe('listenForEvents', () => {
  it('wakes waiting callers for events that change these containers', async () => {
    const { engine, stream, asked } = await streams();
    const news = listenForContainerChanges(engine, { container: ['a1', 'b2'] });
    const to = await stream();
    await news.next(forever);
    const woken = news.next(forever);
    to.write('{"Action":"health_status: healthy"}\n');
    await woken;
    news.close();
    expect(asked().pathname).toBe('/events');
    const filters = JSON.parse(asked().searchParams.get('filters') ?? '');
    expect(filters.container).toEqual(['a1', 'b2']);
    expect(filters.event).toEqual(expect.arrayContaining(['start', 'die', 'health_status']));
    expect(filters.event).not.toContain('exec_start');
  });

  it('wakes once for events that arrived earlier', async () => {
    const { engine, stream } = await streams();
    const news = listenForContainerChanges(engine, { label: ['p=x'] });
    const to = await stream();
    await news.next(forever);
    to.write('{"Action":"start"}\n');
    await sleep(50);
    await news.next(forever);
    stopTheClock();
    expect(await wakesWithin(news, 1_900)).toBe(false);
    news.close();
  });

  it('wakes every two seconds while the event stream is open', async () => {
    const { engine } = await streams();
    const news = listenForContainerChanges(engine, { label: ['p=x'] });
    await news.next(forever);
    stopTheClock();
    expect(await wakesWithin(news, 1_999)).toBe(false);
    expect(await wakesWithin(news, 2_000)).toBe(true);
    news.close();
  });

  it('wakes when the stream opens or is interrupted, and reopens it', async () => {
    const { engine, stream, times } = await streams();
    stopTheClock();
    const news = listenForContainerChanges(engine, { label: ['p=x'] });
    const first = await stream();
    await news.next(forever);
    first.destroy();
    await news.next(forever);
    expect(await wakesWithin(news, 250)).toBe(true);
    expect(times()).toBe(1);
    const woken = news.next(forever);
    (await stream(2)).write('{"Action":"start"}\n');
    await woken;
    news.close();
  });

  it.each([403, 500])('wakes four times a second if the engine responds with status %d', async (status) => {
    const { engine, answer, stream, times } = await streams();
    answer(status);
    stopTheClock();
    const news = listenForContainerChanges(engine, { label: ['p=x'] });
    await stream();
    expect(await wakesWithin(news, 249)).toBe(false);
    for (let look = 0; look < 3; look++) expect(await wakesWithin(news, 250)).toBe(true);
    expect(times()).toBe(1);
    news.close();
  });

  it('does not fail if no engine responds', async () => {
    const address = { host: 'unix:///nonexistent/docker.sock', tls: [], configDirectory: '/nonexistent' };
    const news = listenForContainerChanges(new Engine(address, { home: '/' }), { container: ['a1'] });
    await news.next(50);
    news.close();
  });
});

it('watchStops lists the containers that are being stopped', async () => {
  const { engine, stream, asked } = await streams();
  const stops = watchContainerStops(engine, ['a1', 'b2', 'c3']);
  const to = await stream();
  // The network may split events.
  const text = ['a1', 'b2', 'c3'].map((id) => event('kill', id)).join('') + event('die', 'b2');
  for (const part of [text.slice(0, 30), text.slice(30), '<html>\n']) {
    to.write(part);
    await sleep(20);
  }
  await expect.poll(() => stops.underWay()).toEqual(['a1', 'c3']);
  // Time for a possible unhandled rejection after the interrupted response.
  to.destroy();
  await sleep(50);
  expect(stops.underWay()).toEqual(['a1', 'c3']);
  stops.close();
  const filters = JSON.parse(asked().searchParams.get('filters') ?? '');
  expect(filters).toEqual({ container: ['a1', 'b2', 'c3'], event: ['kill', 'die'] });
});

const event = (Action: string, ID: string) => `${JSON.stringify({ Action, Actor: { ID } })}\n`;

it('watchStops lists no stops if no engine responds', async () => {
  const address = { host: 'unix:///nonexistent/s', tls: [], configDirectory: '/' };
  const stops = watchContainerStops(new Engine(address, { home: '/' }), ['a']);
  await sleep(50);
  expect(stops.underWay()).toEqual([]);
  stops.close();
});
