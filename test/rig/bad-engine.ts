import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { type Duplex, Transform } from 'node:stream';
import { engineSocket } from './engine-api.ts';

export interface BadEngine {
  /** For `update(args, { socket })`. */
  socket: string;
  /** All requests so far, such as `POST /v1.45/images/create?…`. */
  requests: string[];
  /** Matching requests get no response; null lets new requests through again. Hanging requests stay open. */
  hang(pattern: RegExp | null): void;
  /**
   * Requests for which the function returns true are not forwarded and get status 500; null forwards all requests
   * again.
   */
  fail(which: ((asked: string) => boolean | Promise<boolean>) | null): void;
  /**
   * For requests for which the function returns a promise, the client's input to a container is delayed until it
   * resolves.
   */
  holdInput(which: (asked: string) => Promise<void> | null): void;
  /** The next matching request is executed, and its response is lost. */
  loseAnswer(pattern: RegExp): void;
  /** Event streams deliver each event in the lines that the function returns; null delivers events unchanged again. */
  changeEvents(change: ((line: string) => Promise<readonly string[]>) | null): void;
  /** Closes every connection and accepts none, until `up`. */
  down(): void;
  up(): void;
  close(): Promise<void>;
}

/** A socket in front of the real engine: forwards everything except for planned faults. */
export async function startBadEngine(socket: string): Promise<BadEngine> {
  const requests: string[] = [];
  const connections = new Set<Socket>();
  let hanging: RegExp | null = null;
  let failing: (asked: string) => boolean | Promise<boolean> = () => false;
  const lost = new Set<RegExp>();
  let inputs: (asked: string) => Promise<void> | null = () => null;
  let changed: ((line: string) => Promise<readonly string[]>) | null = null;
  let away = false;

  const notes = (asked: IncomingMessage): boolean => {
    const line = lineOf(asked);
    requests.push(line);
    return hanging?.test(line) ?? false;
  };
  const server = createServer(async (asked, answer) => {
    if (notes(asked)) return;
    const line = lineOf(asked);
    if (await failing(line)) {
      asked.resume();
      answer.writeHead(500, { 'Content-Type': 'application/json' }).end('{"message":"something went wrong"}');
      return;
    }
    const change = /^GET \/(?:v[\d.]+\/)?events\b/.test(line) ? changed : null;
    serve(asked, answer, { lost, change }).catch(() => answer.destroy());
  });
  server.on('upgrade', (asked: IncomingMessage, near: Duplex, head: Buffer) => {
    if (!notes(asked)) joinStreams(asked, near, head, () => inputs(lineOf(asked)));
  });
  server.on('connection', (connection) => {
    if (away) {
      connection.destroy();
      return;
    }
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  });
  // A pull may be silent for a long time.
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve));

  const cut = () => {
    for (const connection of connections) connection.destroy();
  };
  return {
    socket,
    requests,
    hang: (pattern) => {
      hanging = pattern;
    },
    fail: (which) => {
      failing = which ?? (() => false);
    },
    holdInput: (which) => {
      inputs = which;
    },
    loseAnswer: (pattern) => {
      lost.add(pattern);
    },
    changeEvents: (change) => {
      changed = change;
    },
    down: () => {
      away = true;
      cut();
    },
    up: () => {
      away = false;
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

/** A request as tests refer to it: with the API version for docker and compose, and without it for the updater. */
function lineOf({ method, url = '', headers }: IncomingMessage): string {
  return `${method} ${headers['user-agent'] === undefined ? url.replace(/^\/v[\d.]+(?=\/)/, '') : url}`;
}

interface PlannedFaults {
  lost: Set<RegExp>;
  change: ((line: string) => Promise<readonly string[]>) | null;
}

async function serve(
  asked: IncomingMessage,
  answer: ServerResponse,
  { lost, change }: PlannedFaults,
): Promise<void> {
  // Sent together with the headers: the engine may respond and close the connection before the end of a chunked body.
  const body = Buffer.concat(await asked.toArray());
  const { method, url } = asked;
  const headers: OutgoingHttpHeaders = { ...asked.headers };
  delete headers['transfer-encoding'];
  if (body.length > 0) headers['content-length'] = body.length;
  const passed = request({ socketPath: engineSocket, method, path: url, headers, agent: false }, (got) => {
    const isLost = [...lost].find((pattern) => pattern.test(lineOf(asked)));
    if (isLost !== undefined) {
      lost.delete(isLost);
      got.resume();
      answer.destroy();
      return;
    }
    answer.writeHead(got.statusCode ?? 502, got.headers);
    // An event stream has no body at first: its headers are the response.
    answer.flushHeaders();
    got.on('error', () => answer.destroy());
    if (change === null) got.pipe(answer);
    else changeLines(got, answer, change).catch(() => answer.destroy());
  });
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  passed.end(body);
}

async function changeLines(
  from: IncomingMessage,
  to: ServerResponse,
  change: (line: string) => Promise<readonly string[]>,
): Promise<void> {
  for await (const line of createInterface({ input: from }))
    for (const each of await change(line)) to.write(`${each}\n`);
  to.end();
}

/**
 * `docker attach`, `exec` and similar commands take over the connection: from then on, bytes flow in both directions.
 */
function joinStreams(
  asked: IncomingMessage,
  near: Duplex,
  head: Buffer,
  held: () => Promise<void> | null,
): void {
  const far = connect(engineSocket);
  const lines = [`${asked.method} ${asked.url} HTTP/1.1`];
  for (let i = 0; i < asked.rawHeaders.length; i += 2) {
    lines.push(`${asked.rawHeaders[i]}: ${asked.rawHeaders[i + 1]}`);
  }
  far.write(`${lines.join('\r\n')}\r\n\r\n`);
  far.write(head);
  const input = new Transform({
    transform: async (chunk, _, done) => {
      await held();
      done(null, chunk);
    },
  });
  far.pipe(near).pipe(input).pipe(far);
  far.on('error', () => near.destroy());
  near.on('error', () => far.destroy());
}
