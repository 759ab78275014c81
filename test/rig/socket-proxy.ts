import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bridgeAddress } from './bridge-address.ts';
import { engineSocket } from './engine-api.ts';
import { type Haproxy, startHaproxy } from './haproxy.ts';

/** A rule of the list in SECURITY.md. */
export interface AllowedCall {
  /** The text of the rule, `http-request allow if …`. */
  line: string;
  method: string;
  path: RegExp;
  /** Whether only the server needs the call, and a manually started updater does not. */
  isServers: boolean;
  isRare: boolean;
}

export interface SeenCall {
  method: string;
  path: string;
  status: number;
}

export interface SocketProxy {
  /** The address for containers of the engine; `hostFlag` makes its name known to them. */
  address: string;
  /** All calls since the start of the proxy. */
  calls: SeenCall[];
  /** Restarts the proxy with these rules, with or without the real engine behind it. */
  restart(lines: readonly AllowedCall[], hasEngine?: boolean): Promise<void>;
  close(): Promise<void>;
}

export const proxyName = 'socket-proxy';

const document = new URL('../../SECURITY.md', import.meta.url);

/** The configuration in SECURITY.md. */
async function configuration(): Promise<string> {
  const text = /^```haproxy\n([\s\S]*?)^```$/m.exec(await readFile(document, 'utf8'))?.[1];
  if (text === undefined) throw new Error('SECURITY.md has no configuration of a proxy');
  return text;
}

export async function allowedCalls(): Promise<AllowedCall[]> {
  const lines = (await configuration()).split('\n').map((line) => line.trim());
  const updaters = lines.findIndex((line) => line.startsWith('# The updater, started manually'));
  return lines.flatMap((line, at): AllowedCall[] => {
    const form = /^http-request allow if \{ method (\w+) \} \{ path_reg (\S+) \}( # rarely)?$/;
    const [whole, method = '', path = '', rarely] = form.exec(line) ?? [];
    if (whole === undefined) return [];
    return [{ line, method, path: new RegExp(path), isServers: at < updaters, isRare: rarely !== undefined }];
  });
}

export const lets = ({ method, path }: AllowedCall, call: SeenCall): boolean =>
  method === call.method && path.test(call.path);

/** HAProxy with the configuration of SECURITY.md in front of the real engine, at the host's address for containers. */
export async function startSocketProxy(port: number, lines: readonly AllowedCall[]): Promise<SocketProxy> {
  const directory = await mkdtemp(join(tmpdir(), 'socket-proxy-'));
  const host = await bridgeAddress();
  const calls: SeenCall[] = [];
  const at = (socket: string) => ({ file: join(directory, 'haproxy.cfg'), place: `${host}:${port}`, socket });
  let child = await start(at(engineSocket), lines, calls);
  return {
    address: `tcp://${proxyName}:${port}`,
    calls,
    async restart(others, hasEngine = true) {
      await child.stop();
      child = await start(at(hasEngine ? engineSocket : join(directory, 'none.sock')), others, calls);
    },
    async close() {
      await child.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function start(
  { file, place, socket }: { file: string; place: string; socket: string },
  lines: readonly AllowedCall[],
  calls: SeenCall[],
): Promise<Haproxy> {
  const kept = new Set(lines.map(({ line }) => line));
  const shown = (await configuration())
    .split('\n')
    .filter((line) => !line.includes('http-request allow') || kept.has(line.trim()))
    .join('\n');
  const text = shown
    .replace('mode http', 'mode http\n  log stdout format raw local0\n  log-format "%ST %HM %HP"')
    .replace('bind :2375', `bind ${place}`)
    .replace('/var/run/docker.sock', socket);
  return startHaproxy({ file, text, place }, (line) => {
    const [, status, method = '', path = ''] = /^(\d{3}) (\w+) (\S+)$/.exec(line) ?? [];
    if (status !== undefined) calls.push({ status: Number(status), method, path });
  });
}
