// The agent's second door to the engine: requests over its socket. A run looks at containers dozens of times, and a
// command takes ten times as long for a look; making an old container again, and reading a file out of an image without
// a shell, no command can do.

import { readFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, RequestOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { UpdateError } from '../../progress/update-error.ts';
import type { Engine, EngineAddress } from '../cli/engine.ts';
import { logTiming } from '../timing.ts';

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With its query, without a version: the engine takes its newest then. */
  path: string;
  /** Sent as JSON, bytes as a tar archive. */
  body?: unknown;
  /** Infinity for none. */
  deadlineMs?: number;
  /** Bytes of an answer beyond which it is not read any further: an error, or cut off there. */
  limit?: number;
  cut?: boolean;
}

export interface ApiAnswer {
  status: number;
  /** `1.45`; empty where the engine does not say. */
  apiVersion: string;
  body: Buffer;
}

const defaultDeadlineMs = 30_000;
const defaultLimit = 16 * 1024 * 1024;
const maxAttempts = 3;
/** The engine answers 500 for a container that is just being removed, until it is gone. */
const maxReadings = 20;
const readingPauseMs = 250;

/**
 * Asks the engine what its command line cannot, or takes ten times as long for. An engine that goes away is waited for, and
 * asked once more: whatever is asked must bear being asked twice. @throws UpdateError engine-away, Cancelled
 */
export async function askApi(engine: Engine, asked: ApiRequest): Promise<ApiAnswer> {
  const what = `${asked.method} ${asked.path.replace(/\?.*/, '')}`;
  const deadlineMs = asked.deadlineMs ?? defaultDeadlineMs;
  const target = apiTarget(engine.address);
  for (let attempt = 1; ; attempt++) {
    try {
      const beganAt = performance.now();
      const answer = await send(target, asked, deadlineMs, engine.aborted);
      logTiming(what, beganAt, `status ${answer.status}`);
      return answer;
    } catch (cause) {
      if (engine.aborted.aborted) throw engine.abortion;
      if (cause instanceof UpdateError) throw cause;
      if (cause instanceof DeadlinePassed) {
        throw new UpdateError(
          'engine-away',
          `the engine did not answer within ${deadlineMs / 1000} s (${what})`,
          { cause },
        );
      }
      if (attempt >= maxAttempts) {
        throw new UpdateError(
          'engine-away',
          `the engine does not answer (${what}): ${(cause as Error).message}`,
          { cause },
        );
      }
      // The call through the command line waits for an engine that went away, and tells about it in the log.
      await engine.callOrThrow(['version', '--format', '{{.Server.Version}}']);
    }
  }
}

/**
 * Asks for what only tells, by its path. An engine that fails to tell it is asked again for five seconds: a failure is no
 * absence. @throws UpdateError engine-away, Cancelled
 */
export async function readApi(
  engine: Engine,
  path: string,
  how: Pick<ApiRequest, 'limit' | 'cut'> = {},
): Promise<ApiAnswer> {
  for (let asked = 1; ; asked++) {
    const answer = await askApi(engine, { method: 'GET', path, ...how });
    if (answer.status < 500 || asked >= maxReadings) return answer;
    await sleep(readingPauseMs);
  }
}

/** The engine's own words for why it refuses. */
export function refusal({ status, body }: ApiAnswer): string {
  const text = body.toString().trim();
  try {
    const { message } = JSON.parse(text);
    if (typeof message === 'string') return message;
  } catch {
    // The body is not the engine's JSON; it may be a proxy's page.
  }
  return text.split('\n')[0]?.slice(0, 300) || `status ${status}`;
}

/** The deadline has passed. */
class DeadlinePassed extends Error {}

export interface ApiTarget {
  tls: boolean;
  /** What stands before each path, for an engine behind a proxy. */
  prefix: string;
  options: RequestOptions & { ca?: Buffer; cert?: Buffer; key?: Buffer; rejectUnauthorized?: boolean };
}

/** Where the engine's API is by the address that the command line is given. @throws UpdateError engine-away */
export function apiTarget({ host, tls }: EngineAddress): ApiTarget {
  if (host.startsWith('unix://')) {
    return { tls: false, prefix: '', options: { socketPath: host.slice('unix://'.length) } };
  }
  const url = URL.canParse(host) ? new URL(host) : null;
  if (url?.protocol !== 'tcp:' || url.hostname === '') {
    throw new UpdateError(
      'engine-away',
      `the engine's address ${hostOnly(host)} is of no kind that the updater can use`,
      {
        advice: 'Give the updater the socket (unix://) or a tcp:// address of the engine.',
      },
    );
  }
  const secure = tls.some((flag) => flag === '--tlsverify' || flag === '--tls');
  const file = (flag: string) => {
    const at = tls.indexOf(flag);
    return at < 0 ? undefined : readFileSync(tls[at + 1] ?? '');
  };
  const [ca, cert, key] = secure ? [file('--tlscacert'), file('--tlscert'), file('--tlskey')] : [];
  return {
    tls: secure,
    prefix: url.pathname.replace(/\/$/, ''),
    options: {
      hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port || (secure ? 2376 : 2375),
      ...(ca && { ca }),
      ...(cert && { cert }),
      ...(key && { key }),
      ...(secure && { rejectUnauthorized: tls.includes('--tlsverify') }),
    },
  };
}

const hostOnly = (host: string): string => host.replace(/\/\/[^/@]*@/, '//***@');

const tooLong = (what: string, limit: number): UpdateError =>
  new UpdateError('engine-away', `the engine's answer is longer than ${limit} bytes (${what})`);

/** A request to the engine that is still to be sent. */
export function openRequest(
  { tls, prefix, options }: ApiTarget,
  path: string,
  { headers, ...how }: { method?: string; signal?: AbortSignal; headers?: OutgoingHttpHeaders } = {},
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

function send(
  target: ApiTarget,
  { method, path, body, limit = defaultLimit, cut = false }: ApiRequest,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  const bytes =
    body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const type = Buffer.isBuffer(body) ? 'application/x-tar' : 'application/json';
  return new Promise((resolve, reject) => {
    const headers = bytes && { 'Content-Type': type, 'Content-Length': bytes.length };
    const asked = openRequest(target, path, { method, signal, ...(headers && { headers }) });
    const deadline = Number.isFinite(deadlineMs)
      ? setTimeout(() => asked.destroy(new DeadlinePassed('late')), deadlineMs)
      : undefined;
    const fail = (error: Error) => {
      clearTimeout(deadline);
      reject(error);
    };
    asked.on('error', fail);
    asked.on('response', (answer: IncomingMessage) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const end = () => {
        clearTimeout(deadline);
        resolve({
          status: answer.statusCode ?? 0,
          apiVersion: String(answer.headers['api-version'] ?? ''),
          body: Buffer.concat(chunks).subarray(0, limit),
        });
      };
      answer.on('error', fail);
      answer.on('end', end);
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size <= limit) return;
        if (cut) end();
        else fail(tooLong(`${method} ${path.replace(/\?.*/, '')}`, limit));
        asked.destroy();
      });
    });
    asked.end(bytes);
  });
}
