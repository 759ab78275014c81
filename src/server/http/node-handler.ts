import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TLSSocket } from 'node:tls';
import type { InstanceUpdates } from '../contract/instance-updates.ts';

/** Request of `node:http` with the properties that frameworks add. */
export interface NodeRequest extends IncomingMessage {
  /** Complete path and query of the request. Routers that remove a prefix from `url` set this property. */
  originalUrl?: string;
  /** Body that a framework has already read. */
  body?: unknown;
}

/**
 * Handler for `node:http`. Never throws. Requests outside the base path are passed to `next`. If there is no `next`,
 * the response is 404.
 */
export type NodeHandler = (request: NodeRequest, response: ServerResponse, next?: () => void) => void;

/** Creates a request handler for `node:http`, Express, Fastify, Nest and similar frameworks. */
export function toNodeHandler(updates: Pick<InstanceUpdates, 'handle' | 'matches'>): NodeHandler {
  return (request, response, next) => {
    let address: URL;
    let isOurs: boolean;
    try {
      address = addressOf(request);
      isOurs = updates.matches(new Request(address));
    } catch {
      return respondWithText(response, 400, 'The request URL is not valid.');
    }
    if (!isOurs) return next ? next() : respondWithText(response, 404, 'Not found.');
    // A connection that breaks during a write is not a server error.
    response.on('error', () => {});
    // Discard the unread body. Otherwise, the client may not read the response or reuse the connection.
    response.once('finish', () => request.resume());
    answer(updates, address, request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  };
}

const respondWithText = (response: ServerResponse, status: number, text: string): void =>
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
  const { status, headers, body } = await updates.handle(await toWebRequest(address, request, gone.signal));
  if (gone.signal.aborted) return void body?.cancel().catch(() => {});
  // Status 0 comes from `Response.error()`: close the connection without a response.
  if (status === 0) return void response.destroy();
  for (const [name, value] of headers) {
    if (name === 'set-cookie') response.appendHeader(name, value);
    else response.setHeader(name, value);
  }
  // After a timeout, the rest of the body stays unread, so the connection cannot be reused.
  if (status === 408) response.shouldKeepAlive = false;
  response.writeHead(status);
  // `pipeline` sends only as fast as the client reads, and stops when the client disconnects.
  if (body) await pipeline(Readable.fromWeb(body), response);
  else response.end();
}

/** Returns the URL of a request. Ignores proxy headers such as `X-Forwarded-Host`, because any client can send them. */
function addressOf({ originalUrl, url = '/', headers, socket }: NodeRequest): URL {
  const requested = originalUrl ?? url;
  // A request that is sent through a proxy has an absolute URL. Parse only http(s) URLs, because an HTTP/2 path can be
  // any text: `x:@evil/` would be read as credentials and a host.
  const whole = /^https?:\/\//i.test(requested) ? URL.parse(requested) : null;
  const path = requested.startsWith('/') ? requested : whole ? whole.pathname + whole.search : '/';
  const scheme = (socket as Partial<TLSSocket> | undefined)?.encrypted ? 'https' : 'http';
  const host = headers.host ?? headers[':authority'];
  // An invalid host could change the path of the URL, so `localhost` replaces it.
  const base =
    typeof host === 'string' && /^[\w.:[\]-]+$/.test(host) ? URL.parse(`${scheme}://${host}`) : null;
  return new URL(`${base?.origin ?? `${scheme}://localhost`}${path}`);
}

/**
 * HTTP methods that the `Request` constructor rejects. The prefix `X-` is added to them, so that the handler can
 * respond with 405 and the allowed methods.
 */
const rejectedMethods = ['CONNECT', 'TRACE', 'TRACK'];

async function toWebRequest(address: URL, request: NodeRequest, signal: AbortSignal): Promise<Request> {
  const { method = 'GET', rawHeaders } = request;
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    // HTTP/2 pseudo-headers such as `:path` are omitted, because they are not valid header names.
    if (!name.startsWith(':')) headers.append(name, value);
  }
  if (method === 'GET' || method === 'HEAD') return new Request(address, { method, headers, signal });
  const known = rejectedMethods.includes(method) ? `X-${method}` : method;
  const body = bodyOf(request);
  const requested = new Request(address, {
    method: known,
    headers,
    signal,
    body: body === undefined ? 'lost' : body,
    duplex: 'half',
  });
  // A framework has read and discarded the body, so the request has a placeholder body. Consume the placeholder, so
  // that the handler fails when it reads the body. Otherwise, the handler would accept a request without its body.
  if (body === undefined) await requested.text();
  return requested;
}

/**
 * Returns the unread body as a stream, or the content that a framework has read. Returns null for an empty body, and
 * undefined for a body that a framework has discarded.
 */
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
