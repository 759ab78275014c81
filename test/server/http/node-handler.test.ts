import { getEventListeners, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type NodeRequest, toNodeHandler } from '../../../src/server/http/node-handler.ts';
import { WatchedRecord } from '../run/watched-record.ts';
import { follow } from './follow-events.ts';
import { record } from './memory-service.ts';
import { NodeRig } from './node-rig.ts';
import { path } from './send-request.ts';

let rig: NodeRig;
afterEach(() => rig.close());

async function start(handle?: (request: Request) => Promise<Response>): Promise<NodeRig> {
  rig = new NodeRig(handle);
  await rig.listen((request, response) => rig.handler(request, response));
  return rig;
}

const head = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`;

describe('toNodeHandler', () => {
  it('responds with 404 outside the path', async () => {
    await start();
    for (const where of ['/x', '/', '//x', '/api/v1/instance/updates', '/%', '/?/api/v1/instance/update']) {
      const { answer } = await rig.talk(head(`GET ${where}`, 'Host: a'), '\r\n\r\n');
      expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    }
  });

  it.each([
    ['Host: svc.example.org', `http://svc.example.org${path}`],
    ['Host: svc.example.org:8443', `http://svc.example.org:8443${path}`],
    ['Host: evil.example/api', `http://localhost${path}`],
    ['Host: a:99999999', `http://localhost${path}`],
    ['Host: a\r\nX-Forwarded-Host: b\r\nX-Forwarded-Proto: https\r\nForwarded: host=c', `http://a${path}`],
  ])('uses the Host header: %j', async (headers, url) => {
    await start();
    const { answer } = await rig.talk(head(`GET ${path}`, headers), '\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(rig.asked[0]?.url).toBe(url);
  });

  it('keeps repeated headers separate', async () => {
    const { service } = await start();
    const twice = ['Host: a', 'Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: same-origin'];
    const { answer } = await rig.talk(head(`POST ${path}`, ...twice, 'Content-Length: 0'), '"status"');
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(service.calls).toEqual([]);
  });

  it('responds with 413 to a too large body without Content-Length', async () => {
    const { service } = await start();
    const body = `186a0\r\n${'x'.repeat(100_000)}\r\n0\r\n\r\n`;
    const headers = ['Host: a', 'Transfer-Encoding: chunked', 'Content-Type: application/json'];
    const { answer } = await rig.talk(head(`POST ${path}`, ...headers) + body, '"status":413');
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(service.calls).toEqual([]);
    expect((await fetch(rig.url())).status).toBe(200);
  });

  it('responds with 408 to a body that is incomplete after 10 s', async () => {
    const { service } = await start();
    const half = head(`POST ${path}`, 'Host: a', 'Content-Length: 20', 'Content-Type: application/json');
    const { socket } = await rig.talk(head(`GET ${path}`, 'Host: a'), '\r\n\r\n');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let answer = '';
    socket.on('data', (text) => {
      answer += text;
    });
    try {
      socket.write(`${half}{"target"`);
      await expect.poll(() => [rig.asked.length, vi.getTimerCount()]).toEqual([2, 1]);
      vi.advanceTimersByTime(9_999);
      expect(answer).toBe('');
      vi.advanceTimersByTime(1);
      await once(socket, 'close');
    } finally {
      vi.useRealTimers();
    }
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toMatch(/\r\nconnection: close\r\n/i);
    expect(answer).toContain('application/problem+json');
    expect(service.calls).toEqual(['status']);
    expect((await fetch(rig.url())).status).toBe(200);
  });
});

describe('a stream', () => {
  it('is sent in real time and closed when the client disconnects', async () => {
    const { service } = await start();
    const run = record('run1', WatchedRecord) as WatchedRecord;
    service.run = run;
    const leave = new AbortController();
    const headers = { accept: 'text/event-stream' };
    const answer = await fetch(rig.url('/progress'), { headers, signal: leave.signal });
    const following = follow(answer.body);
    expect(await following.some(2)).toEqual(['retry 1000', 'run run1:0 launching']);
    run.add({ time: '2026-11-21T10:42:08.000Z', level: 'info', phase: 'pull', message: 'a' });
    expect(await following.some(2)).toEqual(['line run1:1 a', 'run run1:1 pull']);
    await expect.poll(() => run.waiting).toBe(1);
    leave.abort();
    await expect.poll(() => run.waiting).toBe(0);
    await expect.poll(() => getEventListeners(service.closing, 'abort')).toEqual([]);
    expect(rig.asked[0]?.signal.aborted).toBe(true);
  });

  it('is rejected if a hundred streams are already open', async () => {
    const { service } = await start();
    service.run = record();
    const headers = { accept: 'text/event-stream' };
    const leave = new AbortController();
    const ask = (signal?: AbortSignal) => fetch(rig.url('/progress'), { headers, signal: signal ?? null });
    const streams = [await ask(leave.signal)];
    for (let number = 1; number < 100; number++) streams.push(await ask());
    const refused = await ask();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await refused.json()).toMatchObject({ detail: '100 event streams are already open.' });
    expect((await fetch(rig.url('/progress'))).status).toBe(200);
    leave.abort();
    await expect.poll(() => rig.asked[0]?.signal.aborted).toBe(true);
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(503);
    service.run.end({ outcome: 'updated', message: 'updated' });
    await Promise.all(streams.slice(1).map((stream) => stream.text()));
    expect((await ask()).status).toBe(200);
  });

  it('is not produced faster than it is read', async () => {
    let made = 0;
    let isCancelled = false;
    await start(async () => {
      const body = new ReadableStream({
        pull(controller) {
          // Ends only to protect the machine from a handler that does not wait.
          if (++made > 2_000) controller.close();
          else controller.enqueue(new Uint8Array(64 * 1024));
        },
        cancel() {
          isCancelled = true;
        },
      });
      return new Response(body);
    });
    const { socket } = await rig.talk(head(`GET ${path}`, 'Host: a'), '\r\n\r\n');
    socket.pause();
    let before = -1;
    // The kernel's buffers fill up at once. One unchanged count is not enough: the process may have been paused.
    for (let still = 0; still < 5; before = made) {
      await sleep(20);
      still = made > before ? 0 : still + 1;
    }
    await sleep(200);
    expect(made).toBe(before);
    expect(made).toBeLessThan(1_000);
    socket.destroy();
    await expect.poll(() => isCancelled).toBe(true);
  });

  it('closes only its own connection when it fails', async () => {
    await start(async ({ url }) => {
      if (url.endsWith('?ok')) return new Response('ok');
      if (url.endsWith('?throws')) throw new Error('x');
      let count = 0;
      const pull = (controller: ReadableStreamDefaultController) =>
        count++ < 2 ? controller.enqueue(new Uint8Array(10)) : controller.error(new Error('x'));
      return new Response(new ReadableStream({ pull }));
    });
    await expect(fetch(rig.url()).then((answer) => answer.text())).rejects.toThrow();
    expect((await fetch(rig.url('?throws'))).status).toBe(500);
    expect(await (await fetch(rig.url('?ok'))).text()).toBe('ok');
  });
});

describe('a body that a framework has read', () => {
  /** Reads the body as frameworks do, and sets `request.body`. */
  async function startWith(body: (text: string) => unknown): Promise<NodeRig> {
    rig = new NodeRig();
    await rig.listen(async (request: NodeRequest, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      request.body = body(text);
      rig.handler(request, response);
    });
    return rig;
  }

  it.each<[string, (text: string) => unknown]>([
    ['an object', JSON.parse],
    ['a text', (text) => text],
    ['bytes', (text) => Buffer.from(text)],
  ])('is accepted as %s', async (_, body) => {
    const { service } = await startWith(body);
    expect((await rig.post('{"target":"v1.5.0"}')).status).toBe(202);
    expect((await rig.post(`{"target":"${'x'.repeat(20_000)}"}`)).status).toBe(413);
    expect((await rig.post('{"x":1}')).status).toBe(400);
    // A form that a page of another site can send is still rejected.
    expect((await rig.post('{"target":"v1.5.0"}', 'text/plain')).status).toBe(415);
    expect(service.calls).toEqual(['start v1.5.0 for admin']);
  });

  it('causes a 500 if the framework did not keep it', async () => {
    const { service, logged } = await startWith(() => undefined);
    expect((await rig.post('{"target":"v1.5.0"}')).status).toBe(500);
    expect(String(logged[0])).toContain('the request body had already been read');
    expect(service.calls).toEqual([]);
  });
});

it('responds with 400 to unreadable requests', async () => {
  rig = new NodeRig();
  const unreadable = () => {
    throw new TypeError('Invalid URL');
  };
  const handler = toNodeHandler({ ...rig.updates, matches: unreadable });
  await rig.listen((request, response) => handler(request, response));
  expect((await fetch(rig.url())).status).toBe(400);
});
