import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { listen } from '../../../src/engine/api/events.ts';
import { watchStops } from '../../../src/engine/api/stops.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';
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
  const event = (Action: string, ID: string) => `${JSON.stringify({ Action, Actor: { ID } })}\n`;
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
