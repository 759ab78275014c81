import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askEngine, engineSocket } from './engine-api.ts';

/** A line of the list of SECURITY.md. */
export interface AllowedCall {
  /** `http-request allow if …`, as it stands there. */
  line: string;
  method: string;
  path: RegExp;
  /** Whether the server needs it, and not only an updater by hand. */
  isServers: boolean;
  isRare: boolean;
}

export interface SeenCall {
  method: string;
  path: string;
  status: number;
}

export interface SocketProxy {
  /** By which containers of the engine reach it, when they are told that name by `hostFlag`. */
  address: string;
  /** Everything that was asked of it since it was started. */
  calls: SeenCall[];
  /** Begins again with these lines, before the real engine or before none. */
  restart(lines: readonly AllowedCall[], hasEngine?: boolean): Promise<void>;
  close(): Promise<void>;
}

export const proxyName = 'socket-proxy';

const document = new URL('../../SECURITY.md', import.meta.url);

/** The configuration of SECURITY.md. */
async function configuration(): Promise<string> {
  const text = /^```haproxy\n([\s\S]*?)^```$/m.exec(await readFile(document, 'utf8'))?.[1];
  if (text === undefined) throw new Error('SECURITY.md has no configuration of a proxy');
  return text;
}

export async function allowedCalls(): Promise<AllowedCall[]> {
  const lines = (await configuration()).split('\n').map((line) => line.trim());
  const updaters = lines.findIndex((line) => line.startsWith('# The updater by hand'));
  return lines.flatMap((line, at): AllowedCall[] => {
    const form = /^http-request allow if \{ method (\w+) \} \{ path_reg (\S+) \}( # rarely)?$/;
    const [whole, method = '', path = '', rarely] = form.exec(line) ?? [];
    if (whole === undefined) return [];
    return [{ line, method, path: new RegExp(path), isServers: at < updaters, isRare: rarely !== undefined }];
  });
}

export const lets = ({ method, path }: AllowedCall, call: SeenCall): boolean =>
  method === call.method && path.test(call.path);

/** HAProxy with the configuration of SECURITY.md before the real engine, on the address that the engine's containers have the host by. */
export async function startSocketProxy(port: number, lines: readonly AllowedCall[]): Promise<SocketProxy> {
  const directory = await mkdtemp(join(tmpdir(), 'socket-proxy-'));
  const host = await gateway();
  const calls: SeenCall[] = [];
  const at = (socket: string) => ({ file: join(directory, 'haproxy.cfg'), place: `${host}:${port}`, socket });
  let child = await start(at(engineSocket), lines, calls);
  return {
    address: `tcp://${proxyName}:${port}`,
    calls,
    async restart(others, hasEngine = true) {
      await stop(child);
      child = await start(at(hasEngine ? engineSocket : join(directory, 'none.sock')), others, calls);
    },
    async close() {
      await stop(child);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function start(
  { file, place, socket }: { file: string; place: string; socket: string },
  lines: readonly AllowedCall[],
  calls: SeenCall[],
): Promise<ChildProcess> {
  const kept = new Set(lines.map(({ line }) => line));
  const shown = (await configuration())
    .split('\n')
    .filter((line) => !line.includes('http-request allow') || kept.has(line.trim()))
    .join('\n');
  const text = shown
    .replace('mode http', 'mode http\n  log stdout format raw local0\n  log-format "%ST %HM %HP"')
    .replace('bind :2375', `bind ${place}`)
    .replace('/var/run/docker.sock', socket);
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
    for (const line of parts) {
      const [, status, method = '', path = ''] = /^(\d{3}) (\w+) (\S+)$/.exec(line) ?? [];
      if (status !== undefined) calls.push({ status: Number(status), method, path });
    }
  });
  const failed = once(child, 'error').then(([error]) => error as Error);
  for (let tries = 0; tries < 100; tries++) {
    const error = await Promise.race([failed, sleep(50, null)]);
    if (error !== null) throw new Error('HAProxy is needed: scripts/test installs it', { cause: error });
    if (child.exitCode !== null) throw new Error(`HAProxy ended: ${said}`);
    if (await listens(place)) return child;
  }
  throw new Error(`HAProxy does not listen: ${said}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
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

/** What `host-gateway` is for a container. */
async function gateway(): Promise<string> {
  const { IPAM } = JSON.parse((await askEngine('GET', '/networks/bridge')).body);
  return IPAM.Config[0].Gateway;
}
