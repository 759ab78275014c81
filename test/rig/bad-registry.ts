import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A fault of a request. */
export type RegistryFault =
  | {
      kind: 'answer';
      status: number;
      headers?: Record<string, string>;
      code?: string;
    }
  /** No response, ever. */
  | { kind: 'stall' }
  /** The first bytes of the body are sent, and the others only after the promise. */
  | { kind: 'late'; after: number; until: Promise<void> }
  /** The body is sent at this speed. */
  | { kind: 'slow'; bytesPerSecond: number }
  /** The body ends after this number of bytes. */
  | { kind: 'cut'; after: number }
  /** One byte of the body is changed. */
  | { kind: 'corrupt' };

export interface FaultScope {
  /** Affected requests. Default: all, including the version check `/v2/`. */
  on?: 'manifests' | 'blobs';
  /** Number of failing requests; later requests succeed. Default: all fail. */
  times?: number;
}

export const registryFaults = {
  denied: {
    kind: 'answer',
    status: 401,
    headers: { 'WWW-Authenticate': 'Basic realm="svc"' },
    code: 'UNAUTHORIZED',
  },
  forbidden: { kind: 'answer', status: 403, code: 'DENIED' },
  unknown: { kind: 'answer', status: 404, code: 'MANIFEST_UNKNOWN' },
  busy: { kind: 'answer', status: 429, headers: { 'Retry-After': '1' }, code: 'TOOMANYREQUESTS' },
  gone: { kind: 'answer', status: 404, code: 'BLOB_UNKNOWN' },
  error: { kind: 'answer', status: 500, code: 'UNKNOWN' },
  stall: { kind: 'stall' },
  corrupt: { kind: 'corrupt' },
} as const satisfies Record<string, RegistryFault>;

export interface BadRegistry {
  /** `127.0.0.1:port`, for `createInstance({ registry })`. */
  host: string;
  /** All requests so far, such as `GET /v2/…/manifests/v1.1.0`. */
  requests: string[];
  /** Applies to all requests from now on; null ends the fault. */
  fail(fault: RegistryFault | null, scope?: FaultScope): void;
  /** Refuses connections until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

/** A registry with planned faults, in front of a real registry. With credentials, it requires them. */
export async function startBadRegistry(
  upstream: string,
  credentials?: { user: string; password: string },
  ownPort = 0,
): Promise<BadRegistry> {
  let current: { fault: RegistryFault; scope: FaultScope; left: number } | undefined;
  const requests: string[] = [];
  const authorization =
    credentials && `Basic ${Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64')}`;

  const take = ({ url = '' }: IncomingMessage): RegistryFault | undefined => {
    if (current === undefined || current.left <= 0) return undefined;
    const { scope } = current;
    if (scope.on !== undefined && !url.includes(`/${scope.on}/`)) return undefined;
    current.left--;
    return current.fault;
  };

  const server = createServer((asked, answer) => {
    requests.push(`${asked.method} ${asked.url}`);
    if (authorization !== undefined && asked.headers.authorization !== authorization) {
      reply(answer, registryFaults.denied);
      return;
    }
    const fault = take(asked);
    if (fault?.kind === 'answer') reply(answer, fault);
    else if (fault?.kind !== 'stall') forward(upstream, asked, answer, fault);
  });
  // The engine tries TLS first, and takes the plain response as a rejection.
  server.on('clientError', (_, socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const down = async () => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen(ownPort);
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    requests,
    fail: (fault, scope = {}) => {
      current = fault === null ? undefined : { fault, scope, left: scope.times ?? Number.POSITIVE_INFINITY };
    },
    down,
    up: () => listen(port),
    close: down,
  };
}

/** The text of a `config.json` with these credentials, as `docker login` writes it. */
export function dockerConfig(host: string, { user, password }: { user: string; password: string }): string {
  const auth = Buffer.from(`${user}:${password}`).toString('base64');
  return JSON.stringify({ auths: { [host]: { auth } } });
}

function reply(
  answer: ServerResponse,
  { status, headers, code }: Extract<RegistryFault, { kind: 'answer' }>,
): void {
  answer.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  answer.end(JSON.stringify({ errors: [{ code, message: `${code}, says the bad registry` }] }));
}

function forward(
  upstream: string,
  asked: IncomingMessage,
  answer: ServerResponse,
  fault?: RegistryFault,
): void {
  const headers = { ...asked.headers };
  delete headers.authorization;
  const [hostname, port] = upstream.split(':');
  const passed = request({ hostname, port, method: asked.method, path: asked.url, headers }, async (got) => {
    answer.writeHead(got.statusCode ?? 502, got.headers);
    try {
      for await (const chunk of bent(got, fault)) {
        if (!answer.write(chunk)) await new Promise((resolve) => answer.once('drain', resolve));
        if (answer.destroyed) return;
      }
      answer.end();
    } catch {
      answer.destroy();
    }
  });
  passed.on('error', () => answer.destroy());
  asked.pipe(passed);
}

async function* bent(body: AsyncIterable<Buffer>, fault: RegistryFault | undefined): AsyncIterable<Buffer> {
  let sent = 0;
  const began = performance.now();
  for await (const chunk of body) {
    if (fault?.kind === 'corrupt' && sent === 0) chunk[chunk.length - 1] = (chunk.at(-1) ?? 0) ^ 1;
    if (fault?.kind === 'cut' && sent + chunk.length > fault.after) throw new Error('cut');
    if (fault?.kind === 'late' && sent + chunk.length > fault.after) {
      const now = Math.max(0, fault.after - sent);
      yield chunk.subarray(0, now);
      await fault.until;
      yield chunk.subarray(now);
    } else if (fault?.kind !== 'slow') {
      yield chunk;
    } else {
      const step = Math.max(1, Math.round(fault.bytesPerSecond / 20));
      for (let at = 0; at < chunk.length; at += step) {
        yield chunk.subarray(at, at + step);
        const dueMs = (1000 * (sent + Math.min(at + step, chunk.length))) / fault.bytesPerSecond;
        await sleep(Math.max(0, dueMs - (performance.now() - began)));
      }
    }
    sent += chunk.length;
  }
}
