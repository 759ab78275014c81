import { rename, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import type { FaultPlan } from './faults.ts';
import { Reply } from './reply.ts';

/** A received request. */
export interface Asked {
  method: string;
  /** Without the version, as sent: names in it are still encoded. */
  path: string;
  query: URLSearchParams;
  body: string;
  headers: ReadonlyMap<string, string>;
  /** `GET /v1.45/containers/x/json?…`, which faults match. */
  line: string;
  /** The name of the door. */
  door: string;
}

export interface DoorOptions {
  name: string;
  path: string;
  faults: FaultPlan;
  answer(asked: Asked, reply: Reply): void;
  /** Called for each request before the response. */
  onRequest(asked: Asked): void;
}

/** A socket of the engine. Each server has its own, so that it can be disconnected separately. */
export class Door {
  readonly #options: DoorOptions;
  readonly #connections = new Set<Socket>();
  #server: Server | null = null;

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get path(): string {
    return this.#options.path;
  }

  async open(): Promise<void> {
    const { path } = this.#options;
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket));
    // Node removes the socket file under its original name only: the renamed file may remain after closing.
    const made = `${path}.made`;
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(made, resolve));
    await rename(made, path);
    this.#server = server;
  }

  /** Stops listening: connections to a remaining file are refused, and a removed file is not found. */
  async close({ file }: { file: 'stays' | 'goes' }): Promise<void> {
    const server = this.#server;
    this.#server = null;
    const closed = new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
    for (const socket of this.#connections) socket.destroy();
    await closed;
    if (file === 'goes') await rm(this.#options.path, { force: true });
  }

  async #serve(socket: Socket): Promise<void> {
    this.#connections.add(socket);
    socket.once('close', () => this.#connections.delete(socket));
    socket.on('error', () => {});
    try {
      await this.#answerAll(socket);
    } catch {
      socket.destroy();
    }
  }

  async #answerAll(socket: Socket): Promise<void> {
    let come: Buffer = Buffer.alloc(0);
    let wake = Promise.withResolvers<void>();
    socket.on('data', (chunk: Buffer) => {
      come = Buffer.concat([come, chunk]);
      wake.resolve();
    });
    // A client that has sent everything and closes its side reads nothing more.
    socket.on('end', () => socket.destroy());
    socket.on('close', () => wake.resolve());
    while (!socket.destroyed) {
      const read = readRequest(come, this.#options.name);
      if (read === null) {
        await wake.promise;
        wake = Promise.withResolvers();
        continue;
      }
      come = come.subarray(read.size);
      await this.#answer(read.asked, socket);
    }
  }

  async #answer(asked: Asked, socket: Socket): Promise<void> {
    const { faults, answer, onRequest } = this.#options;
    const strike = faults.meet(asked.line);
    const keepsOpen = asked.headers.get('connection')?.toLowerCase() !== 'close';
    const reply = new Reply({ socket, strike, keepsOpen });
    onRequest(asked);
    const fault = strike?.fault;
    if (fault?.kind === 'refuse') reply.refuse(fault.status ?? 500, fault.message ?? 'something went wrong');
    else if (fault?.kind === 'page') reply.whole(fault.status ?? 403, proxyPage, 'text/html');
    else answer(asked, reply);
    await reply.finished;
  }
}

/** The rejection page of HAProxy. */
const proxyPage = `<html><body><h1>403 Forbidden</h1>
Request forbidden by administrative rules.
</body></html>
`;

/** The first request in the received bytes, and its size; null while it is incomplete. */
function readRequest(come: Buffer, door: string): { asked: Asked; size: number } | null {
  const headEnd = come.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [first = '', ...lines] = come.subarray(0, headEnd).toString('latin1').split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const size = headEnd + 4 + Number(headers.get('content-length') ?? 0);
  if (come.length < size) return null;
  const [method = '', target = ''] = first.split(' ');
  const [whole = '', query = ''] = target.split('?', 2);
  const path = whole.replace(/^\/v1\.\d+(?=\/)/, '');
  return {
    asked: {
      method,
      path,
      query: new URLSearchParams(query),
      body: come.subarray(headEnd + 4, size).toString(),
      headers,
      line: `${method} ${target}`,
      door,
    },
    size,
  };
}
