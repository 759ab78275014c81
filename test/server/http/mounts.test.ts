import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createServer as createHttp2Server,
} from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NodeRig } from './node-rig.ts';
import { path } from './send-request.ts';

/** Request targets (HTTP/2: `:path`) that are no path, or that are ambiguous. */
const targets = [
  ...['x:@evil/', 'a:[/', '@evil/', '?', '*', '//[', '//evil:99999999/', '/\\evil'],
  ...['/[', '/%', '/%00', '/../..', 'http://[', 'http://a:b@c/', 'urn:a:[', '\xff'],
  ...[`x:@evil${path}`, `//evil${path}`, `${path}/%`, `${path}?[`, `${path}\\..`],
];

/** Errors that would have ended the server's process. */
const fatal: unknown[] = [];
const note = (error: unknown) => void fatal.push(error);
let rig: NodeRig;
beforeEach(() => {
  fatal.length = 0;
  process.on('uncaughtException', note).on('unhandledRejection', note);
  rig = new NodeRig();
});
afterEach(async () => {
  process.off('uncaughtException', note).off('unhandledRejection', note);
  await rig.close();
});

const expressOf = (mount: (app: express.Express) => void): Server => {
  const app = express();
  mount(app);
  app.get('/theirs', (_, response) => void response.send('theirs'));
  return createServer(app).listen(0, '127.0.0.1');
};

/** The ways of docs/server-library.md to mount the endpoints on `node:http`, and other common ways. */
const mounts: [string, () => Server | Promise<Server>][] = [
  [
    'node:http',
    () =>
      createServer((request, response) =>
        rig.handler(request, response, () => void response.end('theirs')),
      ).listen(0, '127.0.0.1'),
  ],
  ['Express, after its parser', () => expressOf((app) => app.use(express.json(), rig.handler))],
  ['Express, below a path', () => expressOf((app) => app.use('/api/v1', express.json(), rig.handler))],
  [
    'Fastify',
    async () => {
      const app = fastify();
      app.addHook('onRequest', (request, reply, done) => rig.handler(request.raw, reply.raw, done));
      app.get('/theirs', async () => 'theirs');
      await app.ready();
      app.server.listen(0, '127.0.0.1');
      return app.server;
    },
  ],
];

describe.each(mounts)('%s', (_, start) => {
  beforeEach(async () => rig.use(await start()));

  it("serves the endpoints and the application's own routes", async () => {
    expect(await (await fetch(rig.url())).json()).toMatchObject({ version: 'v1.4.2' });
    expect(await (await fetch(new URL('/theirs', rig.url()))).text()).toBe('theirs');
    expect((await fetch(rig.url('/x'))).headers.get('content-type')).toBe('application/problem+json');
    expect((await rig.post('{"target":"v1.5.0"}')).status).toBe(202);
    expect((await fetch(rig.url(), { method: 'POST' })).status).toBe(202);
    expect((await rig.post('{"target":1}')).status).toBe(400);
    expect(rig.service.calls).toEqual(['status', 'start v1.5.0 for admin', 'start null for admin']);
  });

  it('survives every malformed request target', async () => {
    for (const target of targets) {
      expect([target, await rawly(target)]).toEqual([
        target,
        expect.stringMatching(/^(?:HTTP\/1\.1 [234]\d\d .*)?$/),
      ]);
      expect([target, fatal]).toEqual([target, []]);
    }
    expect(await rawly(path)).toMatch(/ 200 /);
  });
});

/** The first line of the response; empty if the connection was closed, null if neither happened within 30 s. */
async function rawly(target: string): Promise<string | null> {
  const socket = connect(rig.port, '127.0.0.1').setEncoding('latin1');
  let said = '';
  socket.on('data', (text) => {
    said += text;
  });
  socket.on('error', () => {});
  socket.write(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, 'latin1');
  const timer = setTimeout(() => socket.destroy(new Error('late')), 30_000);
  const closed = await once(socket, 'close');
  clearTimeout(timer);
  return said === '' && closed[0] === true && !socket.readableEnded ? null : (said.split('\r\n')[0] ?? '');
}

/** The status of the response; 0 if the stream was closed, null if neither happened within 30 s. */
async function overHttp2(
  session: ClientHttp2Session,
  target: string,
  scheme = 'http',
): Promise<number | null> {
  // With a scheme other than http and https, the path is not validated on its way.
  const stream = session.request({ ':path': target, ':scheme': scheme, ':method': 'POST' });
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), 30_000);
    const done = (status: number) => {
      clearTimeout(timer);
      stream.close();
      resolve(status);
    };
    stream.once('response', (headers) => done(Number(headers[':status'])));
    stream.once('error', () => done(0));
    stream.once('close', () => done(0));
    stream.end();
  });
}

it('survives every malformed request target over HTTP/2, and serves the endpoints', async () => {
  const server = createHttp2Server((...asked) => rig.handler(...(asked as unknown as [never, never])));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on('error', () => {});
  try {
    for (const scheme of ['http', 'x'])
      for (const target of targets) {
        const status = await overHttp2(session, target, scheme);
        expect([target, status]).toEqual([target, expect.toSatisfy((code) => code !== null && code < 500)]);
        expect([target, fatal]).toEqual([target, []]);
      }
    expect(await overHttp2(session, path)).toBe(202);
    expect(rig.asked.at(-1)?.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api/);
    expect(fatal).toEqual([]);
  } finally {
    session.destroy();
    server.close();
  }
});
