import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen, watchStops } from '../../../src/engine/api/events.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { type Answer, chunked, startRawEngine } from '../raw-engine.ts';
import { startEngine } from './http-engine.ts';

/** Longer than a test may take: whoever waits that long has not been woken. */
const forever = 60_000;

async function streams(): Promise<{ engine: Engine; stream: Promise<ServerResponse>; asked: () => URL }> {
  const opened = Promise.withResolvers<ServerResponse>();
  let url = new URL('http://engine');
  const host = await startEngine((from, to) => {
    url = new URL(from.url ?? '', 'http://engine');
    to.writeHead(200).flushHeaders();
    opened.resolve(to);
  });
  const engine = new Engine({ host, tls: [], configDirectory: '/nonexistent' }, { home: '/' });
  return { engine, stream: opened.promise, asked: () => url };
}

it('wakes whoever waits, for these containers and for what changes how they are', async () => {
  const { engine, stream, asked } = await streams();
  const news = listen(engine, ['a1', 'b2']);
  const woken = news.next(forever);
  (await stream).write('{"Action":"health_status: healthy"}\n');
  await woken;
  news.close();
  expect(asked().pathname).toBe('/events');
  const filters = JSON.parse(asked().searchParams.get('filters') ?? '');
  expect(filters.container).toEqual(['a1', 'b2']);
  expect(filters.event).toEqual(expect.arrayContaining(['start', 'die', 'health_status']));
  expect(filters.event).not.toContain('exec_start');
});

it('does not lose what came while nobody waited, and wakes once for it', async () => {
  const { engine, stream } = await streams();
  const news = listen(engine, ['a1']);
  (await stream).write('{"Action":"start"}\n');
  await sleep(50);
  await news.next(forever);
  let woken = false;
  const next = news.next(100).then(() => {
    woken = true;
  });
  await sleep(20);
  expect(woken).toBe(false);
  await next;
  news.close();
});

it('lets nobody wait longer than they want, also where the engine goes away', async () => {
  const { engine, stream } = await streams();
  const news = listen(engine, ['a1']);
  (await stream).destroy();
  await news.next(50);
  await news.next(50);
  news.close();
});

it('is content where no engine answers', async () => {
  const address = { host: 'unix:///nonexistent/docker.sock', tls: [], configDirectory: '/nonexistent' };
  const news = listen(new Engine(address, { home: '/' }), ['a1']);
  await news.next(50);
  news.close();
});

it('knows which containers were told to stop and have not ended', async () => {
  const { engine, stream, asked } = await streams();
  const stops = watchStops(engine, ['a1', 'b2', 'c3']);
  const to = await stream;
  // Events come as the network cuts them.
  const text = ['a1', 'b2', 'c3'].map((id) => event('kill', id)).join('') + event('die', 'b2');
  for (const part of [text.slice(0, 30), text.slice(30), '<html>\n']) {
    to.write(part);
    await sleep(20);
  }
  await expect.poll(() => stops.underWay()).toEqual(['a1', 'c3']);
  stops.close();
  const filters = JSON.parse(asked().searchParams.get('filters') ?? '');
  expect(filters).toEqual({ container: ['a1', 'b2', 'c3'], event: ['kill', 'die'] });
});

const event = (Action: string, ID: string) => `${JSON.stringify({ Action, Actor: { ID } })}\n`;

async function watch(answer: Answer['bytes'], end: 'hang' | 'hang up') {
  const raw = await startRawEngine(() => ({ bytes: answer, end }));
  onTestFinished(() => raw.close());
  const engine = new Engine({ host: `unix://${raw.path}`, tls: [], configDirectory: '/' }, { home: '/' });
  const stops = watchStops(engine, ['a', 'b']);
  onTestFinished(() => stops.close());
  return stops;
}

describe('watchStops', () => {
  const told = [event('kill', 'a'), event('kill', 'b').slice(0, 9), event('kill', 'b').slice(9)];

  it('tells who was told to stop and has not ended, by lines that come in pieces', async () => {
    const { bytes } = chunked([...told, 'a page of a proxy\n\n', event('die', 'a')]);
    const stops = await watch(bytes.subarray(0, -5), 'hang');
    await expect.poll(() => stops.underWay()).toEqual(['b']);
  });

  it.each(['hang', 'hang up'] as const)(
    'keeps what was told by an engine that breaks off: %s',
    async (end) => {
      const { bytes } = chunked(told);
      const stops = await watch(bytes.subarray(0, -9), end);
      await expect.poll(() => stops.underWay()).toContain('a');
      // What comes of the broken answer would be unhandled by now.
      await sleep(50);
      expect(stops.underWay()).toContain('a');
    },
  );

  it('knows of none where nobody answers', async () => {
    const engine = new Engine(
      { host: 'unix:///nonexistent/s', tls: [], configDirectory: '/' },
      { home: '/' },
    );
    const stops = watchStops(engine, ['a']);
    await sleep(50);
    expect(stops.underWay()).toEqual([]);
    stops.close();
  });
});
