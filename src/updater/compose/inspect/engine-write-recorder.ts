// To determine what `up` would do, compose is connected to the recorder's socket. The recorder forwards only reads. It
// records all other requests instead.

import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dryRunRejectionText } from '../../../engine/cli/create-compose-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { EngineConnection } from '../../../engine/http/engine-connection.ts';
import { createClientRequest } from '../../../engine/http/request.ts';
import { type Json, parseJsonOrNull } from '../../../engine/objects/json.ts';

/** A recorded request that would have changed something. */
export interface RecordedEngineWrite {
  method: string;
  /** Path without the API version and the query. */
  path: string;
  /** Name in the query, such as the name of a container or image; empty if the query contains no name. */
  name: string;
  /** API version in the path, such as `1.45`; empty if there is none. */
  apiVersion: string;
  /** JSON body; null if there is none. */
  body: Json | null;
}

export interface EngineWriteRecorder {
  /** Value for `--host`, such as `unix:///tmp/…`. */
  host: string;
  /** Recorded requests in order of arrival. */
  writes: readonly RecordedEngineWrite[];
  close(): Promise<void>;
}

/** Called after a write was recorded. The response is sent once the promise resolves; the promise must never reject. */
export type EngineWriteListener = (write: RecordedEngineWrite) => Promise<void>;

/** Maximum size of a request body in bytes, larger than any container definition. */
const longestBody = 16 * 1024 * 1024;

/** Headers that must not be forwarded. An upgraded connection, for example, could send writes to the engine. */
const ofConnection = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'http2-settings', 'content-length', 'host', 'expect'],
]);

/** Starts a recorder on a socket that only this user can access. */
export async function startEngineWriteRecorder(
  engine: Engine,
  hold: EngineWriteListener = async () => {},
): Promise<EngineWriteRecorder> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-updater-recorder-'));
  const path = join(directory, 'engine.sock');
  const writes: RecordedEngineWrite[] = [];
  const { target } = engine;
  const { createServer } = process.getBuiltinModule('node:http');
  const server = createServer((request, response) => {
    if (request.method === 'GET' || request.method === 'HEAD') forwardRequest(target, request, response);
    else recordRequest(request, response, { writes, hold });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  return {
    host: `unix://${path}`,
    writes,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function forwardRequest(target: EngineConnection, request: IncomingMessage, response: ServerResponse): void {
  const { method = 'GET', url = '/' } = request;
  // The engine ignores the body of a GET, so the body is not forwarded.
  request.resume();
  const requested = createClientRequest(target, url, { method, headers: endToEnd(request.headers) });
  requested.on('error', () => request.socket.destroy());
  requested.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers, 'content-length'));
    // Sends the headers immediately, because a client that follows events waits for them.
    response.flushHeaders();
    answer.on('error', () => request.socket.destroy());
    answer.pipe(response);
  });
  // The `Upgrade` header is not forwarded, so an upgrade by the engine is an error.
  requested.on('upgrade', (_, socket) => {
    socket.destroy();
    request.socket.destroy();
  });
  response.on('close', () => requested.destroy());
  requested.end();
}

const endToEnd = (headers: IncomingHttpHeaders, kept?: string): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name === kept || !ofConnection.has(name)));

function recordRequest(
  request: IncomingMessage,
  response: ServerResponse,
  { writes, hold }: { writes: RecordedEngineWrite[]; hold: EngineWriteListener },
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('error', () => {});
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > longestBody) request.socket.destroy();
    else chunks.push(chunk);
  });
  request.on('end', () => {
    const [, apiVersion = '', path = '', query] =
      /^(?:\/v([\d.]+))?([^?]*)(.*)/.exec(request.url ?? '') ?? [];
    const requested = new URLSearchParams(query);
    const name = requested.get('name') ?? requested.get('fromImage') ?? '';
    const body = parseJsonOrNull(Buffer.concat(chunks).toString());
    const write = { method: request.method ?? '', path, name, apiVersion, body };
    writes.push(write);
    void hold(write).then(() => {
      const [status, answer] = simulatedResponseTo(write);
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(answer && JSON.stringify(answer));
    });
  });
}

/**
 * Writes that get a successful response without being executed. Otherwise, compose would stop before it requests the
 * container.
 */
const simulatedWrites: readonly [method: string, path: RegExp, status: number][] = [
  ['POST', /^\/containers\/[^/]+\/stop$/, 204],
  ['DELETE', /^\/containers\/[^/]+$/, 204],
  ['POST', /^\/networks\/create$/, 201],
  ['POST', /^\/networks\/[^/]+\/(?:dis)?connect$/, 200],
  ['DELETE', /^\/networks\/[^/]+$/, 204],
  ['POST', /^\/volumes\/create$/, 201],
];

function simulatedResponseTo({
  method,
  path,
  name,
  body,
}: RecordedEngineWrite): [status: number, body?: Json] {
  const status = simulatedWrites.find(([verb, form]) => verb === method && form.test(path))?.[2];
  if (status === undefined)
    return [500, { message: `${dryRunRejectionText} ${method} ${path}${name && ` (${name})`}` }];
  if (status !== 201) return [status];
  // Imitates the engine's response after creating a network or a volume.
  if (/^\/networks\//.test(path)) return [status, { Id: '0'.repeat(64), Warning: '' }];
  const Name = body?.Name ?? '';
  return [status, { Name, Driver: 'local', Mountpoint: '', Labels: {}, Options: {}, Scope: 'local' }];
}
