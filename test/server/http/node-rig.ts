import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { InstanceUpdates } from '../../../src/server/contract/instance-updates.ts';
import { createRequestHandler } from '../../../src/server/http/handler.ts';
import { type NodeHandler, toNodeHandler } from '../../../src/server/http/node-handler.ts';
import { MemoryService } from './memory-service.ts';
import { path } from './send-request.ts';

/** The endpoints behind a server of `node:http`, or of a framework based on it. */
export class NodeRig {
  readonly service = new MemoryService();
  /** The requests that reached the endpoints. */
  readonly asked: Request[] = [];
  readonly logged: unknown[] = [];
  readonly handler: NodeHandler;
  readonly updates: Pick<InstanceUpdates, 'handle' | 'matches'>;
  readonly #sockets: Socket[] = [];
  #server: Server | null = null;

  constructor(handle?: (request: Request) => Promise<Response>) {
    const own = createRequestHandler(this.service, {
      path,
      authorize: () => 'admin',
      log: ({ cause }) => this.logged.push(cause),
    });
    this.updates = {
      matches: ({ url }) => `${new URL(url).pathname}/`.startsWith(`${path}/`),
      handle: async (request) => {
        this.asked.push(request);
        return await (handle ?? own)(request);
      },
    };
    this.handler = toNodeHandler(this.updates);
  }

  async listen(listener: (request: IncomingMessage, response: ServerResponse) => void): Promise<void> {
    await this.use(createServer(listener).listen(0, '127.0.0.1'));
  }

  async use(server: Server): Promise<void> {
    this.#server = server;
    if (!server.listening) await once(server, 'listening');
  }

  get port(): number {
    const address = this.#server?.address() as AddressInfo | undefined;
    return address?.port ?? 0;
  }

  url(where = ''): string {
    return `http://127.0.0.1:${this.port}${path}${where}`;
  }

  post(body: string, type = 'application/json', where = ''): Promise<Response> {
    return fetch(this.url(where), { method: 'POST', body, headers: { 'content-type': type } });
  }

  /** Sends a text, and returns the received text as soon as it contains `until`. */
  async talk(text: string, until: string): Promise<{ socket: Socket; answer: string }> {
    const socket = connect(this.port, '127.0.0.1');
    this.#sockets.push(socket);
    socket.write(text);
    let answer = '';
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      answer += chunk;
      if (answer.includes(until)) break;
    }
    return { socket, answer };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server?.closeAllConnections();
    this.#server?.close();
    if (this.#server?.listening) await once(this.#server, 'close');
  }
}
