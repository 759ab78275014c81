import { getEventListeners, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { getRequestListener } from '@hono/node-server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createHandler } from '../../../src/instance/http/handler.ts';
import type { Status } from '../../../src/wire/status.ts';
import { WatchedRecord } from '../run/watched-record.ts';
import { path } from './ask.ts';
import { follow } from './follow.ts';
import { MemoryService, record } from './memory-service.ts';
import { eventually } from './node-rig.ts';

let service: MemoryService;
let server: Server;
let port: number;
let sockets: Socket[] = [];

beforeEach(async () => {
  service = new MemoryService();
  const handle = createHandler(service, { path, authorize: () => 'admin', log: () => {} });
  server = createServer(getRequestListener(handle)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const url = (where = '') => `http://127.0.0.1:${port}${path}${where}`;

/** Sends a text, and waits until the answer contains another. */
async function talk(text: string, until: string): Promise<{ socket: Socket; answer: string }> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.write(text);
  let answer = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    answer += chunk;
    if (answer.includes(until)) break;
  }
  return { socket, answer };
}

const head = (method: string, where: string, ...headers: string[]) =>
  `${[`${method} ${path}${where} HTTP/1.1`, 'Host: svc.example.org', ...headers].join('\r\n')}\r\n\r\n`;

const follower = () => talk(head('GET', '/progress', 'Accept: text/event-stream'), 'event: run');

/** Bytes in use, without garbage. */
function memory(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('over HTTP', () => {
  it('100 idle event streams are cheap, hinder nobody, and leave nothing behind', async () => {
    const run = record('run1', WatchedRecord) as WatchedRecord;
    service.run = run;
    await fetch(url()).then((response) => response.json());
    const before = memory();
    await Promise.all(Array.from({ length: 100 }, follower));
    await eventually(() => expect(run.waiting).toBe(100));
    const idle = memory();
    expect((idle - before) / 100).toBeLessThan(100_000);

    // Nobody reads what comes now: 5 MB of log for each.
    for (const socket of sockets) socket.pause();
    for (let number = 1; number <= 5_000; number++) {
      const message = `${number} ${'x'.repeat(1_000)}`;
      run.add({ time: '2026-11-21T10:42:08.000Z', level: 'info', phase: 'pull', message });
      if (number % 100 === 0) await sleep(1);
    }
    expect((memory() - idle) / 100).toBeLessThan(500_000);
    const response = await fetch(url());
    const status = (await response.json()) as Status;
    expect([response.status, status.run?.state]).toEqual([200, 'pull']);

    // The test's own halves of them hold something, too.
    for (const socket of sockets.splice(0)) socket.destroy();
    await eventually(() => expect(getEventListeners(service.closing, 'abort')).toEqual([]));
    await eventually(() => expect(run.waiting).toBe(0));
    await eventually(() => expect(memory() - before).toBeLessThan(10_000_000));
  });

  it('a run is followed across a broken connection', async () => {
    const run = record();
    service.run = run;
    const add = (message: string) =>
      run.add({ time: '2026-11-21T10:42:08.000Z', level: 'info', phase: 'pull', message });
    const come = async (headers = {}) =>
      follow((await fetch(url('/progress'), { headers: { accept: 'text/event-stream', ...headers } })).body);
    const first = await come();
    expect(await first.some(2)).toEqual(['retry 1000', 'run run1:0 launching']);
    add('a');
    expect(await first.some(2)).toEqual(['line run1:1 a', 'run run1:1 pull']);
    await first.cancel();
    add('b');
    const second = await come({ 'last-event-id': 'run1:1' });
    expect(await second.some(3)).toEqual(['retry 1000', 'run run1:1 pull', 'line run1:2 b']);
    run.end('crashed', 'the container is gone');
    expect(await second.rest()).toEqual(['run run1:end crashed', 'end']);
  });

  it('a server that shuts down ends its streams', async () => {
    service.run = record();
    const { socket } = await follower();
    service.close();
    let rest = '';
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      rest += chunk;
      // The last chunk of an answer that ended well.
      if (rest.endsWith('0\r\n\r\n')) break;
    }
    expect(rest).toMatch(/0\r\n\r\n$/);
  });

  it.each([
    ['whose length is said', 'Content-Length: 100000', 'x'.repeat(100_000)],
    ['without a length', 'Transfer-Encoding: chunked', `186a0\r\n${'x'.repeat(100_000)}\r\n`],
    ['that has not come yet', 'Content-Length: 1000000', 'x'.repeat(20_000)],
  ])('a large body %s is answered', async (_, header, body) => {
    const sent = head('POST', '', header, 'Content-Type: application/json') + body;
    const { answer } = await talk(sent, '"status":413');
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('application/problem+json');
    expect(service.calls).toEqual([]);
  });

  it('a body that is never sent is nobody else’s trouble', async () => {
    const half = head('POST', '', 'Content-Length: 20', 'Content-Type: application/json');
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.write(`${half}{"target"`);
    await sleep(20);
    expect((await fetch(url(), { method: 'POST' })).status).toBe(202);
    socket.destroy();
    await sleep(20);
    expect(service.calls).toEqual(['start null for admin']);
  });

  it('what is asked in one line comes out whole', async () => {
    const response = await fetch(url(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"target":"v1.5.0"}',
    });
    expect([response.status, response.headers.get('location')]).toEqual([202, `${path}/progress`]);
    expect(service.calls).toEqual(['start v1.5.0 for admin']);
    const { answer } = await talk(head('HEAD', ''), '\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*\r\ncontent-type: application\/json\r\n/is);
  });
});
