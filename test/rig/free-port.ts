import { createServer } from 'node:net';

/**
 * A loopback port for a container, below the range from which the kernel gives ports to outgoing connections, and beside
 * those that compose files of the tests name. While this process lives no other one is given it: an abstract socket of
 * its number is held, as nobody listens there until the container does, nor between an old one and a new one.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 23_000 + Math.floor(Math.random() * 9_000);
    const held = createServer().unref();
    if (!(await listens(held, { path: `\0svct-port-${port}` }))) continue;
    const server = createServer();
    if (!(await listens(server, { port, host: '127.0.0.1' }))) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

const listens = (server: ReturnType<typeof createServer>, place: object): Promise<boolean> =>
  new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(place, () => resolve(true));
  });
