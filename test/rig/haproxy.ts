import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Haproxy {
  stop(): Promise<void>;
}

/** HAProxy from Debian's packages with this configuration; it is listening at `place` when the promise resolves. */
export async function startHaproxy(
  { file, text, place }: { file: string; text: string; place: string },
  onLine: (line: string) => void = () => {},
): Promise<Haproxy> {
  await writeFile(file, text);
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  const child = spawn('haproxy', ['-db', '-f', file], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => {
    said += piece;
  });
  let rest = '';
  child.stdout.on('data', (piece: Buffer) => {
    const parts = (rest + piece).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) onLine(line);
  });
  const failed = once(child, 'error').then(([error]) => error as Error);
  for (let tries = 0; tries < 1_200; tries++) {
    const error = await Promise.race([failed, sleep(50, null)]);
    if (error !== null) throw new Error('HAProxy is needed: scripts/test installs it', { cause: error });
    if (child.exitCode !== null) throw new Error(`HAProxy ended: ${said}`);
    if (!(await listens(place))) continue;
    return {
      async stop() {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      },
    };
  }
  throw new Error(`HAProxy does not listen: ${said}`);
}

function listens(place: string): Promise<boolean> {
  const [host = '', port] = place.split(':');
  return new Promise((resolve) => {
    const connection = connect(Number(port), host, () => {
      connection.destroy();
      resolve(true);
    });
    connection.on('error', () => resolve(false));
  });
}
