import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** A server that receives notifications. @param answer status for each request, null to send no response */
export async function receiver(answer: (count: number) => number | null = () => 200, host = '127.0.0.1') {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    // A client may close the connection during its request.
    const chunks = await request.toArray().catch(() => null);
    if (chunks === null) return;
    const body = JSON.parse(Buffer.concat(chunks).toString());
    received.push({ path: `${request.method} ${request.url}`, headers: request.headers, body });
    const status = answer(received.length);
    if (status !== null) response.writeHead(status, { Location: '/elsewhere' }).end('{}');
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { received, host: `${host}:${port}`, [Symbol.dispose]: close, close };
}
