// Adversaries for the readers of outside data: servers and programs that send endless or very slow data.

import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export type Flow = 'endless line' | 'endless stream' | 'one byte a second';
/** Data that an adversary sends. */
interface Content {
  /** Sent first, such as the header of a frame. */
  start?: Buffer;
  /** Start of the endless line. */
  key?: string;
  /** Line number `n` of the endless stream, with its line break; `x` by default. */
  line?: (n: number) => string;
}

async function* chunksOf(flow: Flow, { start, key = '', line }: Content): AsyncGenerator<Buffer> {
  if (start !== undefined) yield start;
  if (flow === 'endless line') yield Buffer.from(key);
  const filler = Buffer.alloc(64 * 1024, flow === 'endless stream' ? 'x\n' : 'x');
  for (let n = 0; ; ) {
    if (flow === 'endless line' || (flow === 'endless stream' && line === undefined)) yield filler;
    else if (line !== undefined && flow === 'endless stream')
      yield Buffer.from(Array.from({ length: 1_000 }, () => line(n++)).join(''));
    else {
      yield Buffer.from('x');
      await sleep(1_000);
    }
  }
}

export const send = (flow: Flow, content: Content, to: Writable): void =>
  void pipeline(Readable.from(chunksOf(flow, content)), to).catch(() => {});

/** Directory for sockets and files. */
export const root = mkdtempSync(join(tmpdir(), 'bounded-'));
let sockets = 0;

interface Answer extends Content {
  status?: number;
  type?: string;
  /** Whether the adversary also sends the engine's version in this way. */
  isVersion?: boolean;
}

/**
 * Starts an HTTP server at a socket and a port that answers every request with the flow. `closed` resolves when a client
 * has closed the connection of a flow.
 */
export async function serve(
  flow: Flow,
  { status = 200, type = 'application/json', isVersion, ...content }: Answer = {},
) {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const answer = createServer((request, response) => {
    request.resume();
    response.on('error', () => {});
    const isMissing = request.url?.endsWith('/containers/helper/json');
    response.writeHead(isMissing ? 404 : status, {
      'Content-Type': type,
      'Api-Version': '1.45',
      Location: '/',
    });
    if (!isVersion && request.url === '/version')
      response.end('{"ApiVersion":"1.45","MinAPIVersion":"1.24"}');
    else if (request.url?.endsWith('/containers/create')) response.end('{"Id":"helper"}');
    else if (request.method === 'DELETE') response.end();
    else if (isMissing) response.end('{}');
    else {
      response.on('close', close);
      send(flow, content, response);
    }
  });
  const path = join(root, `${++sockets}.sock`);
  const proxy = createServer((...both) => void answer.emit('request', ...both));
  await Promise.all([
    once(answer.listen(path), 'listening'),
    once(proxy.listen(0, '127.0.0.1'), 'listening'),
  ]);
  return { path, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`, closed };
}

/** Starts a server whose response headers do not end. */
export async function serveHeaders(flow: Flow) {
  const line = () => 'A: x\r\n';
  const server = createSocketServer((socket) => {
    socket.on('error', () => {}).resume();
    send(flow, { start: Buffer.from('HTTP/1.1 200 OK\r\n'), key: 'A: ', line }, socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { host: `tcp://127.0.0.1:${port}`, url: `http://127.0.0.1:${port}/` };
}

/** Shell commands that print each flow. */
export const printing: Readonly<Record<Flow, string>> = {
  'endless line': "tr '\\0' x </dev/zero",
  'endless stream': 'yes x',
  'one byte a second': 'while printf x; do sleep 1; done',
};
