import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { askEngine } from '../engine-api.ts';
import { type Haproxy, startHaproxy } from '../haproxy.ts';

/** Number of addresses of the network, used in order by containers: more than an instance ever has. */
const places = 20;

/**
 * HAProxy in front of all servers of an instance. It checks every address of the project's network, and distributes
 * requests to addresses with successful responses. It listens on the published port of the app.
 */
export async function startLoadBalancer(
  { directory, project, port }: { directory: string; project: string; port: number },
  path: string,
): Promise<Haproxy> {
  const { IPAM } = JSON.parse((await askEngine('GET', `/networks/${project}_internal`)).body);
  const [base = ''] = String(IPAM.Config[0].Subnet).split('/');
  const start = base.slice(0, base.lastIndexOf('.'));
  const addresses = Array.from({ length: places }, (_, at) => `${start}.${at + 2}:8080`);
  const place = `127.0.0.1:${port}`;
  const text = `
defaults
  mode http
  timeout connect 1s
  timeout check 10s
  timeout client 1m
  timeout server 1m
  retries 3
  option redispatch
  retry-on conn-failure
frontend all
  bind ${place}
  default_backend servers
backend servers
  balance roundrobin
  option httpchk
  http-check send meth GET uri ${path} ver HTTP/1.1 hdr Host servers
  default-server check inter 200ms fall 1 rise 1
${addresses.map((address, at) => `  server s${at} ${address}`).join('\n')}
`;
  const file = join(directory, 'data', 'haproxy.cfg');
  const proxy = await startHaproxy({ file, text, place });
  return {
    async stop() {
      await proxy.stop();
      await rm(file, { force: true });
    },
  };
}
