// An engine or a proxy may interrupt or stall a response at any byte. Therefore, every request that has a deadline
// settles by that deadline.

import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { EngineConnection } from './engine-connection.ts';
import { EngineError } from './engine-error.ts';

export interface EngineRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** Path with the query. */
  path: string;
  headers?: OutgoingHttpHeaders;
  /** Buffers and streams are sent as a tar archive, other values as JSON. */
  body?: unknown;
  /** Time limit in milliseconds for the whole response, or only for the headers of a stream; Infinity for no limit. */
  deadlineMs: number;
  signal?: AbortSignal;
  /**
   * Maximum size of the response in bytes, 16 MiB by default. A longer response is truncated if `cut` is set;
   * otherwise, it is an error.
   */
  limit?: number;
  cut?: boolean;
}

const usualLimit = 16 * 1024 * 1024;

export interface EngineResponse {
  status: number;
  /** API version of the response, such as `1.45`; empty if the engine does not report it. */
  apiVersion: string;
  body: Buffer;
}

export interface EngineStream extends Omit<EngineResponse, 'body'> {
  /**
   * Body of the response.
   * @throws EngineError if the response is interrupted or stalls; the signal's reason
   */
  chunks: AsyncIterable<Buffer>;
  close(): void;
}

/** Creates a request without sending it. */
export function createClientRequest(
  { tls, prefix, options }: EngineConnection,
  path: string,
  { headers, ...how }: { method?: string; headers?: OutgoingHttpHeaders } = {},
): ClientRequest {
  // Load the module on demand, because a static import would load `node:https` even for a unix socket.
  const { request } = process.getBuiltinModule(tls ? 'node:https' : 'node:http');
  return request({
    ...options,
    ...how,
    path: prefix + path,
    // Connections are not reused, because the engine may have exited since the last request.
    agent: false,
    // HTTP/1.1 requires a `Host` header. For a unix socket, the engine ignores the value.
    headers: { ...(options.socketPath === undefined ? {} : { Host: 'engine' }), ...headers },
  });
}

/**
 * Sends a request and reads the whole response.
 * @throws EngineError if the response is incomplete at the deadline; the signal's reason
 */
export async function sendEngineRequest(
  target: EngineConnection,
  requested: EngineRequest,
): Promise<EngineResponse> {
  const endsAt = performance.now() + requested.deadlineMs;
  const stream = await openStream(target, requested, Number.POSITIVE_INFINITY);
  const { status, apiVersion } = stream;
  return {
    status,
    apiVersion,
    body: await readResponseBody(stream, requested, Math.max(1, endsAt - performance.now())),
  };
}

/**
 * Sends a request and returns its response as a stream of any duration. The stream fails if nothing arrives for
 * `idleMs` milliseconds.
 * @throws EngineError if no response begins before the deadline; the signal's reason
 */
export async function openStream(
  target: EngineConnection,
  requested: EngineRequest,
  idleMs: number,
): Promise<EngineStream> {
  const { answer: response, close } = send(target, requested);
  try {
    const head = await awaitWithDeadline(response, requested.deadlineMs, requested);
    const apiVersion = String(head.headers['api-version'] ?? '');
    return {
      status: head.statusCode ?? 0,
      apiVersion,
      chunks: chunksOf(head, idleMs, requested, close),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Sends a request. The caller must await `answer` immediately; otherwise, a rejection would end the process. */
function send(
  target: EngineConnection,
  { method, path, headers, body }: EngineRequest,
): { answer: Promise<IncomingMessage>; close(): void } {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  try {
    const isArchive = Buffer.isBuffer(body) || body instanceof Readable;
    const content = isArchive || body === undefined ? body : Buffer.from(JSON.stringify(body));
    const described = content !== undefined && {
      'Content-Type': isArchive ? 'application/x-tar' : 'application/json',
      ...(Buffer.isBuffer(content) && { 'Content-Length': content.length }),
    };
    const request = createClientRequest(target, path, { method, headers: { ...headers, ...described } });
    request.on('error', reject);
    // For some responses, such as a protocol upgrade, Node emits only `close`.
    request.on('close', () => reject(new Error('the connection was closed before the engine answered')));
    request.on('response', (answer) => {
      // Without a listener, an error after the response has been read would end the process. Earlier errors also reach
      // the code that reads the response.
      answer.on('error', () => {});
      resolve(answer);
    });
    // Ignore errors of the body's stream, because the engine may respond before it has received the whole body.
    if (content instanceof Readable) pipeline(content, request).catch(() => {});
    else request.end(content);
    return { answer: promise, close: () => void request.destroy() };
  } catch (error) {
    // Node throws if the path or a header is invalid.
    reject(error);
    return { answer: promise, close: () => {} };
  }
}

/** @throws EngineError if the response is longer than the limit and `cut` is not set */
export function readResponseBody(
  stream: EngineStream,
  requested: EngineRequest,
  deadlineMs: number,
): Promise<Buffer> {
  const { limit = usualLimit, cut = false } = requested;
  const read = async () => {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of stream.chunks) {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= limit) continue;
      if (cut) break;
      const message = `the engine's answer is longer than ${limit} bytes (${requestNameOf(requested)})`;
      throw new EngineError('too-big', message);
    }
    return Buffer.concat(chunks).subarray(0, limit);
  };
  return awaitWithDeadline(read(), deadlineMs, requested).finally(() => stream.close());
}

async function* chunksOf(
  response: IncomingMessage,
  idleMs: number,
  requested: EngineRequest,
  close: () => void,
): AsyncGenerator<Buffer> {
  const iterator: AsyncIterator<Buffer> = response[Symbol.asyncIterator]();
  try {
    for (;;) {
      // Each chunk has its own deadline. The time that the consumer takes between chunks does not count.
      const { done, value } = await awaitWithDeadline(iterator.next(), idleMs, requested);
      if (done) return;
      yield value;
    }
  } finally {
    close();
  }
}

/** Settles when the promise settles, at the deadline, or when the signal is aborted, whichever is first. */
export async function awaitWithDeadline<T>(
  work: Promise<T>,
  deadlineMs: number,
  { signal, ...requested }: Pick<EngineRequest, 'signal' | 'method' | 'path'>,
): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal?.reason);
  const late = () =>
    reject(
      new EngineError(
        'late',
        `the engine did not answer within ${deadlineMs / 1000} s (${requestNameOf(requested)})`,
      ),
    );
  const timer = Number.isFinite(deadlineMs) ? setTimeout(late, deadlineMs) : undefined;
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  try {
    return await Promise.race([ended, work]);
  } catch (error) {
    if (error instanceof EngineError || (signal?.aborted && error === signal.reason)) throw error;
    throw new EngineError('unreachable', describeConnectionError(error), { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/**
 * Returns a name for messages, such as `GET /containers/x/json`. The query is omitted, because it may contain secrets.
 */
export const requestNameOf = ({ method, path }: Pick<EngineRequest, 'method' | 'path'>): string =>
  `${method} ${path.replace(/\?.*/, '')}`;

/** Describes a connection error. Node's message for an interrupted response is only `aborted`. */
function describeConnectionError(error: unknown): string {
  const { message, code } = Object(error) as NodeJS.ErrnoException;
  return message === 'aborted' ? `the answer was interrupted (${code})` : String(message || code || error);
}
