import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { Engine } from '../../src/engine/cli/engine.ts';

/** On a free port of loopback, until the test ends. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Something that answers like this where an engine is expected; gives its address. */
export const startEngine = async (answer: RequestListener): Promise<string> =>
  `tcp://127.0.0.1:${await listen(createServer(answer))}`;

/** The same without a version of its API: it is asked in none, and what it is asked first is not handed on. */
export const startPlainEngine = (answer: RequestListener): Promise<string> =>
  startEngine((from, to) => {
    if (from.url === '/version') to.end('{}');
    else answer(from, to);
  });

/** An engine whose API answers like this, and whose command line is not there. */
export const engineThat = async (answer: RequestListener): Promise<Engine> =>
  new Engine(
    { host: await startPlainEngine(answer), tls: [], configDirectory: '/nonexistent' },
    { home: '/' },
  );
