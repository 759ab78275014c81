import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { InstanceUpdates } from '../contract/instance-updates.ts';

/** A request of `node:http` with the properties that frameworks add. */
export interface NodeRequest extends IncomingMessage {
  /** The complete path, if a router has removed a prefix from `url`. */
  originalUrl?: string;
  /** The body, if a framework has already read it. */
  body?: unknown;
}

/** Requests outside the base path are passed to `next`. Without it they get 404. Never throws. */
export type NodeHandler = (request: NodeRequest, response: ServerResponse, next?: () => void) => void;

/** Mounts the endpoints on `node:http` and frameworks that use it: Express, Fastify, Nest. */
export function toNodeHandler(updates: Pick<InstanceUpdates, 'handle' | 'matches'>): NodeHandler {
  return (request, response, next) => {
    let address: URL;
    let isOurs: boolean;
    try {
      address = addressOf(request);
      isOurs = updates.matches(new Request(address));
    } catch {
      return plain(response, 400, 'The request URL is not valid.');
    }
    if (!isOurs) return next ? next() : plain(response, 404, 'Not found.');
    // A socket that breaks while it is written to is nobody's error.
    response.on('error', () => {});
    // The rest of a body that was too large is let pass, so that its sender reads the answer and the connection goes on.
    response.once('finish', () => request.resume());
    answer(updates, address, request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  };
}

const plain = (response: ServerResponse, status: number, text: string): void =>
  void response.writeHead(status, { 'Content-Type': 'text/plain' }).end(`${text}\n`);

async function answer(
  updates: Pick<InstanceUpdates, 'handle'>,
  address: URL,
  request: NodeRequest,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.closed) gone.abort();
  const { status, headers, body } = await updates.handle(await webRequest(address, request, gone.signal));
  if (gone.signal.aborted) return void body?.cancel().catch(() => {});
  // `Response.error()`: somebody wants the connection to break.
  if (status === 0) return void response.destroy();
  for (const [name, value] of headers) {
    if (name === 'set-cookie') response.appendHeader(name, value);
    else response.setHeader(name, value);
  }
  // The rest of a late body would be waited for, and nobody reads it.
  if (status === 408) response.shouldKeepAlive = false;
  response.writeHead(status);
  if (body) await send(body, response, gone.signal);
  response.end();
}

/**
 * The address that was asked for. What a proxy says of itself in a header is not looked at: anybody can send it. A host
 * that is none is left out, so that it cannot make another path of the address.
 */
function addressOf({ originalUrl, url = '/', headers, socket }: NodeRequest): URL {
  const asked = originalUrl ?? url;
  // A proxy asks with the whole address. HTTP/2 hands on any text, and `x:@evil/` must not become a login and a host.
  const whole = /^https?:\/\//i.test(asked) ? URL.parse(asked) : null;
  const path = asked.startsWith('/') ? asked : whole ? whole.pathname + whole.search : '/';
  const scheme = (socket as Partial<TLSSocket> | undefined)?.encrypted ? 'https' : 'http';
  const host = headers.host ?? headers[':authority'];
  const base =
    typeof host === 'string' && /^[\w.:[\]-]+$/.test(host) ? URL.parse(`${scheme}://${host}`) : null;
  return new URL(`${base?.origin ?? `${scheme}://localhost`}${path}`);
}

/** Methods that `Request` refuses; whoever sends one is told which there are. */
const unspeakable = ['CONNECT', 'TRACE', 'TRACK'];

async function webRequest(address: URL, request: NodeRequest, signal: AbortSignal): Promise<Request> {
  const { method = 'GET', rawHeaders } = request;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    // A pseudo-header of HTTP/2 is no header.
    if (!name.startsWith(':')) headers.append(name, value);
  }
  if (method === 'GET' || method === 'HEAD') return new Request(address, { method, headers, signal });
  const known = unspeakable.includes(method) ? `X-${method}` : method;
  const body = bodyOf(request);
  const asked = new Request(address, {
    method: known,
    headers,
    signal,
    body: body === undefined ? 'lost' : body,
    duplex: 'half',
  });
  // Used up, so that it does not count as a request without a body.
  if (body === undefined) await asked.text();
  return asked;
}

/** The body as it comes, or what a framework has made of it, as text again; undefined where the framework has not kept it. */
function bodyOf(request: NodeRequest): ReadableStream | string | Uint8Array<ArrayBuffer> | null | undefined {
  const { body, readableDidRead, readableEnded, headers } = request;
  if (!readableDidRead && !readableEnded) {
    return ReadableStream.from(request.iterator({ destroyOnReturn: false }));
  }
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return new Uint8Array(body);
  const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  if (isEmpty) return null;
  return body === undefined ? undefined : JSON.stringify(body);
}

/** As fast as the client reads, and no longer than it is there. */
async function send(
  body: ReadableStream<Uint8Array>,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const reader = body.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  gone.addEventListener('abort', leave);
  for (;;) {
    const { done, value } = await reader.read();
    if (done || gone.aborted) return leave();
    if (!response.write(value)) await once(response, 'drain', { signal: gone }).catch(leave);
  }
}
