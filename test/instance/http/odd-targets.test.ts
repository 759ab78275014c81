import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createServer as createHttp2Server,
  type Http2Server,
} from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import express from 'express';
import fastify, { type FastifyInstance } from 'fastify';
import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { path } from './ask.ts';
import { NodeRig } from './node-rig.ts';

/** What a request line, or `:path`, can name that is no path, or one that is read in two ways. */
const targets = [
  ...[
    'x:@evil/',
    'a:[/',
    'x:',
    'x:y',
    ':@evil',
    '@evil/',
    ':80/',
    '.evil/',
    'evil',
    '?',
    '?x',
    '#',
    '#x',
    '*',
  ],
  ...[
    '//',
    '//@evil/',
    '//[',
    '//evil:99999999/',
    '///',
    '/\\evil',
    '\\\\evil',
    '/@',
    '/:80',
    '/[',
    '/%',
    '/%00',
  ],
  ...[
    '/%ff%fe',
    '/..',
    '/../..',
    '/;a=b',
    '/?%',
    '/?#',
    '/#',
    'http:',
    'http://',
    'http://[',
    'http://a:b@c/',
  ],
  ...[
    'http:evil',
    'https:///',
    'data:,x',
    'javascript:x',
    'blob:x',
    'file:///etc/passwd',
    'urn:a:[',
    'é',
    '\xff',
  ],
  ...[`x:@evil${path}`, `//evil${path}`, `${path}/%`, `${path}//@evil`, `${path}?[`, `${path}\\..`],
];

type Started = { server: Server | Http2Server; close?: () => Promise<unknown> };

const hono = (rig: NodeRig) =>
  new Hono()
    .all('*', (c, next) => (rig.updates.matches(c.req.raw) ? rig.updates.handle(c.req.raw) : next()))
    .get('/theirs', (c) => c.text('theirs'));

async function startFastify(app: FastifyInstance, rig: NodeRig): Promise<Started> {
  app.addHook('onRequest', (request, reply, done) => rig.handler(request.raw, reply.raw, done));
  app.get('/theirs', async () => 'theirs');
  await app.ready();
  app.server.listen(0, '127.0.0.1');
  return { server: app.server };
}

const startExpress = (rig: NodeRig, ...before: string[]): Started => {
  const app = express();
  app.use(...(before as []), rig.handler);
  app.get('/theirs', (_, response) => void response.send('theirs'));
  return { server: createServer(app).listen(0, '127.0.0.1') };
};

/** Each way in which docs/server-library.md mounts the endpoints; Nest stands on Express, or on Fastify. */
const http1: [string, (rig: NodeRig) => Started | Promise<Started>][] = [
  [
    'node:http',
    (rig) => ({ server: createServer((...asked) => rig.handler(...asked)).listen(0, '127.0.0.1') }),
  ],
  ['Express', (rig) => startExpress(rig)],
  ['Express, below a path', (rig) => startExpress(rig, '/api/v1')],
  ['Fastify', (rig) => startFastify(fastify(), rig)],
  [
    'Hono',
    (rig) => ({ server: createAdaptorServer({ fetch: hono(rig).fetch }).listen(0, '127.0.0.1') as Server }),
  ],
];
const http2: typeof http1 = [
  [
    'node:http2',
    (rig) => ({
      server: createHttp2Server((...asked) => rig.handler(...(asked as unknown as [never, never]))).listen(
        0,
        '127.0.0.1',
      ),
    }),
  ],
  ['Fastify', (rig) => startFastify(fastify({ http2: true }) as never, rig)],
  [
    'Hono',
    (rig) => ({
      server: createAdaptorServer({ fetch: hono(rig).fetch, createServer: createHttp2Server }).listen(
        0,
        '127.0.0.1',
      ) as Http2Server,
    }),
  ],
];

/** What would have ended the server's process. */
const fatal: unknown[] = [];
const note = (error: unknown) => void fatal.push(error);
let rig: NodeRig;
let server: Server | Http2Server;
beforeEach(() => {
  fatal.length = 0;
  process.on('uncaughtException', note).on('unhandledRejection', note);
  rig = new NodeRig();
});
afterEach(() => {
  process.off('uncaughtException', note).off('unhandledRejection', note);
  if ('closeAllConnections' in server) server.closeAllConnections();
  server.close();
});

async function start(mount: (typeof http1)[number][1]): Promise<number> {
  ({ server } = await mount(rig));
  if (!server.listening) await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** The first line of an answer; empty where the connection was closed, null where it was neither within 30 s. */
async function rawly(port: number, target: string): Promise<string | null> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
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

/** The status of an answer; 0 where the stream was closed, null where it was neither within 30 s. */
async function overHttp2(
  session: ClientHttp2Session,
  target: string,
  scheme = 'http',
): Promise<number | null> {
  // Of another scheme than http and https a path is not looked at on its way.
  const stream = session.request({ ':path': target, ':scheme': scheme });
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

describe.each(http1)('%s, over HTTP/1.1', (_, mount) => {
  it('outlives every odd target', async () => {
    const port = await start(mount);
    for (const target of targets) {
      const line = await rawly(port, target);
      expect([target, line]).toEqual([target, expect.stringMatching(/^(?:HTTP\/1\.1 [234]\d\d .*)?$/)]);
      expect([target, fatal]).toEqual([target, []]);
    }
    expect(await rawly(port, path)).toMatch(/ 200 /);
    expect(await rawly(port, '/theirs')).toMatch(/^HTTP\/1\.1 (?:200|404) /);
    expect(fatal).toEqual([]);
  });
});

describe.each(http2)('%s, over HTTP/2', (_, mount) => {
  it('outlives every odd target', async () => {
    const port = await start(mount);
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    session.on('error', () => {});
    try {
      for (const scheme of ['http', 'x'])
        for (const target of targets) {
          const status = await overHttp2(session, target, scheme);
          expect([target, status]).toEqual([target, expect.toSatisfy((code) => code !== null && code < 500)]);
          expect([target, fatal]).toEqual([target, []]);
        }
      expect(await overHttp2(session, path)).toBe(200);
      expect(fatal).toEqual([]);
    } finally {
      session.destroy();
    }
  });
});
