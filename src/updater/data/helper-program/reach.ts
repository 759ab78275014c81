import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Address and port, or a host name with port 0. */
export interface ReachTarget {
  host: string;
  port: number;
}

const timeoutMs = 1_500;

/** Returns the targets that answer this container, as `host:port`. A refused connection is also an answer. */
export async function findReachableTargets(targets: readonly ReachTarget[]): Promise<string[]> {
  const reached = await Promise.all(
    targets.map(async ({ host, port }) => {
      const attempt = port === 0 ? canResolve(host) : canConnect({ host, port });
      const isReached = await Promise.race([attempt, sleep(timeoutMs, false)]);
      return isReached ? [port === 0 ? host : `${host}:${port}`] : [];
    }),
  );
  return reached.flat();
}

const canResolve = (host: string): Promise<boolean> =>
  lookup(host).then(
    () => true,
    () => false,
  );

function canConnect(target: ReachTarget): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(target, () => resolve(true));
  socket.on('error', ({ code }: NodeJS.ErrnoException) =>
    resolve(code === 'ECONNREFUSED' || code === 'ECONNRESET'),
  );
  return promise.finally(() => socket.destroy());
}
