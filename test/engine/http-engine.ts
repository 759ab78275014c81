import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { Engine } from '../../src/engine/cli/engine.ts';

/** Listens on a free port of 127.0.0.1 until the test ends. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Starts an HTTP server in place of an engine, and returns its address. */
export const startEngine = async (answer: RequestListener): Promise<string> =>
  `tcp://127.0.0.1:${await listen(createServer(answer))}`;

/** Starts a server that reports no API version; the version request does not reach `answer`. */
export const startPlainEngine = (answer: RequestListener): Promise<string> =>
  startEngine((from, to) => {
    if (from.url === '/version') to.end('{}');
    else answer(from, to);
  });

/** An engine with these API responses, and without a docker command. */
export const engineThat = async (answer: RequestListener): Promise<Engine> =>
  new Engine(
    { host: await startPlainEngine(answer), tls: [], configDirectory: '/nonexistent' },
    { home: '/' },
  );
