import { createServer } from 'node:net';

/**
 * A loopback port for a container, below the kernel's range for outgoing connections, and different from the ports in
 * compose files of the tests. While this process lives, no other test process gets it: an abstract socket with its
 * number is held, because between containers nobody listens on the port.
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
