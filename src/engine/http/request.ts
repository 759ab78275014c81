// The one client of the engine's API, for the updater and for the server library. An engine, or what stands for one, may
// break an answer off or fall silent at any byte: whatever is asked here settles all the same, and in time.

import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EngineError } from './engine-error.ts';
import type { EngineTarget } from './target.ts';

export interface EngineQuestion {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** With its query. */
  path: string;
  headers?: OutgoingHttpHeaders;
  /** Sent as JSON, bytes and streams as a tar archive. */
  body?: unknown;
  /** From the question to the end of its answer; of a stream, to the answer's head. Infinity for none. */
  deadlineMs: number;
  signal?: AbortSignal;
  /** Bytes of a whole answer beyond which it is not read any further, 16 MiB by default: a fault, or, where it is cut, its end. */
  limit?: number;
  cut?: boolean;
}

const usualLimit = 16 * 1024 * 1024;

export interface EngineAnswer {
  status: number;
  /** `1.45`; empty if the engine does not report it. */
  apiVersion: string;
  body: Buffer;
}

export interface EngineStream extends Omit<EngineAnswer, 'body'> {
  /** Ends with the answer. @throws EngineError if it breaks off or stalls; the reason of the signal */
  chunks: AsyncIterable<Buffer>;
  close(): void;
}

/** A request to the engine that is still to be sent. */
export function openRequest(
  { tls, prefix, options }: EngineTarget,
  path: string,
  { headers, ...how }: { method?: string; headers?: OutgoingHttpHeaders } = {},
): ClientRequest {
  // An import by name would load the whole module at every start, also for a plain socket.
  const { request } = process.getBuiltinModule(tls ? 'node:https' : 'node:http');
  return request({
    ...options,
    ...how,
    path: prefix + path,
    // No connection is kept open: it could be one to an engine that has gone.
    agent: false,
    // A unix socket has no host name, but HTTP/1.1 wants the header; the engine ignores its value.
    headers: { ...(options.socketPath === undefined ? {} : { Host: 'engine' }), ...headers },
  });
}

/** @throws EngineError if there is no whole answer in time; the reason of the signal */
export async function ask(target: EngineTarget, asked: EngineQuestion): Promise<EngineAnswer> {
  const endsAt = performance.now() + asked.deadlineMs;
  const stream = await openStream(target, asked, Number.POSITIVE_INFINITY);
  const { status, apiVersion } = stream;
  return { status, apiVersion, body: await bodyOf(stream, asked, Math.max(1, endsAt - performance.now())) };
}

/**
 * Asks for an answer that goes on for as long as it takes; a silence of more than `idleMs` is a fault.
 * @throws EngineError if nothing answers in time; the reason of the signal
 */
export async function openStream(
  target: EngineTarget,
  asked: EngineQuestion,
  idleMs: number,
): Promise<EngineStream> {
  const { answer, close } = send(target, asked);
  try {
    const head = await inTime(answer, asked.deadlineMs, asked);
    const apiVersion = String(head.headers['api-version'] ?? '');
    return { status: head.statusCode ?? 0, apiVersion, chunks: chunksOf(head, idleMs, asked, close), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Sends it. What comes of it is to be awaited at once, as it may reject soon. */
function send(
  target: EngineTarget,
  { method, path, headers, body }: EngineQuestion,
): { answer: Promise<IncomingMessage>; close(): void } {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  try {
    const isArchive = Buffer.isBuffer(body) || body instanceof Readable;
    const content = isArchive || body === undefined ? body : Buffer.from(JSON.stringify(body));
    const described = content !== undefined && {
      'Content-Type': isArchive ? 'application/x-tar' : 'application/json',
      ...(Buffer.isBuffer(content) && { 'Content-Length': content.length }),
    };
    const request = openRequest(target, path, { method, headers: { ...headers, ...described } });
    request.on('error', reject);
    // For some answers, such as a protocol change, Node only emits this event.
    request.on('close', () => reject(new Error('the connection was closed before the engine answered')));
    request.on('response', (answer) => {
      // The reader of the answer gets the error, too, except after the last byte that counts.
      answer.on('error', () => {});
      resolve(answer);
    });
    // If the engine responds before the end of a stream, its response counts.
    if (content instanceof Readable) pipeline(content, request).catch(() => {});
    else request.end(content);
    return { answer: promise, close: () => void request.destroy() };
  } catch (error) {
    // A path or a header that cannot be sent.
    reject(error);
    return { answer: promise, close: () => {} };
  }
}

/** The whole rest of an answer. @throws EngineError if it has more bytes than the limit, and is not cut off there */
export function bodyOf(stream: EngineStream, asked: EngineQuestion, deadlineMs: number): Promise<Buffer> {
  const { limit = usualLimit, cut = false } = asked;
  const read = async () => {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of stream.chunks) {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= limit) continue;
      if (cut) break;
      const message = `the engine's answer is longer than ${limit} bytes (${requestName(asked)})`;
      throw new EngineError('too-big', message);
    }
    return Buffer.concat(chunks).subarray(0, limit);
  };
  return inTime(read(), deadlineMs, asked).finally(() => stream.close());
}

async function* chunksOf(
  answer: IncomingMessage,
  idleMs: number,
  asked: EngineQuestion,
  close: () => void,
): AsyncGenerator<Buffer> {
  const iterator: AsyncIterator<Buffer> = answer[Symbol.asyncIterator]();
  try {
    for (;;) {
      // The time that the reader takes does not count.
      const { done, value } = await inTime(iterator.next(), idleMs, asked);
      if (done) return;
      yield value;
    }
  } finally {
    close();
  }
}

/** Settles with the work, at the deadline, or when the signal is given, whichever is first. */
export async function inTime<T>(
  work: Promise<T>,
  deadlineMs: number,
  { signal, ...asked }: Pick<EngineQuestion, 'signal' | 'method' | 'path'>,
): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal?.reason);
  const late = () =>
    reject(
      new EngineError(
        'late',
        `the engine did not answer within ${deadlineMs / 1000} s (${requestName(asked)})`,
      ),
    );
  const timer = Number.isFinite(deadlineMs) ? setTimeout(late, deadlineMs) : undefined;
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  try {
    return await Promise.race([ended, work]);
  } catch (error) {
    if (error instanceof EngineError || (signal?.aborted && error === signal.reason)) throw error;
    throw new EngineError('unreachable', wordsOf(error), { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** `GET /containers/x/json`; a query may contain secrets. */
export const requestName = ({ method, path }: Pick<EngineQuestion, 'method' | 'path'>): string =>
  `${method} ${path.replace(/\?.*/, '')}`;

/** Node calls an interrupted answer `aborted`. */
function wordsOf(error: unknown): string {
  const { message, code } = Object(error) as NodeJS.ErrnoException;
  return message === 'aborted' ? `the answer was interrupted (${code})` : String(message || code || error);
}
