import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { libraryRows } from '../documents/calls.ts';
import { engineSocket } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import {
  type AllowedCall,
  allowedCalls,
  lets,
  proxyName,
  type SocketProxy,
  startSocketProxy,
} from '../rig/socket-proxy.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { createServerInstance, follow, inspect, updaterOf, waitForEnd } from './support/server.ts';

const all = await allowedCalls();
const servers = all.filter(({ isServers }) => isServers);
let port: number;
let proxy: SocketProxy;

beforeAll(async () => {
  port = await freePort();
  proxy = await startSocketProxy(port, servers);
});
afterAll(() => proxy?.close());

/** Calls that no line lets through, and lines that are not said to be rare and that nothing has used. */
function misfits(lines: readonly AllowedCall[]): { calls: string[]; lines: string[] } {
  const strangers = proxy.calls.filter((call) => !lines.some((line) => lets(line, call)));
  const unused = lines.filter((line) => !line.isRare && !proxy.calls.some((call) => lets(line, call)));
  return {
    calls: strangers.map(({ method, path, status }) => `${method} ${path} (${status})`),
    lines: unused.map(({ line }) => line),
  };
}

describe('the list of calls that a socket proxy has to let through', () => {
  it('has a line for each call of the server library, and no other', () => {
    const paths = libraryRows.map(({ call }) => {
      const [method = '', path = ''] = call.split(' ');
      return { method, path: path.replace('{reference}', 'a/b:1').replace('{id}', 'x'), status: 200 };
    });
    expect(paths.filter((call) => !servers.some((line) => lets(line, call)))).toEqual([]);
    expect(servers.filter((line) => !paths.some((call) => lets(line, call)))).toEqual([]);
  });

  it('is enough for a server that is updated, and for an updater by hand', async () => {
    const instance = await createServerInstance({
      compose: { volumes: [], extra: { app: `extra_hosts: ['${proxyName}:host-gateway']` } },
      settings: { ENGINE: proxy.address, UPDATER_SOCKET: engineSocket },
      publish: ['v1.1.0', 'v1.2.0'],
    });
    await instance.offer('v1.1.0');
    expect(await instance.status({ refresh: true })).toMatchObject({ canUpdate: true, reason: null });
    // Another instance's, which has ended: it is given another name.
    const foreign = ['--label', 'svc-updater.project=x', '--label', 'svc-updater.directory=/x'];
    await execa('docker', ['run', '--name', updaterOf(instance), ...foreign, updaterImage, '--version']);

    expect((await instance.startUpdateOverHttp()).status).toBe(202);
    expect((await follow(instance)).runs.at(-1)).toMatchObject({ state: 'updated', to: 'v1.1.0' });
    await waitForEnd(instance);
    const app = await inspect(`${instance.project}-app-1`);
    expect(app.Mounts.map(({ Destination }: { Destination: string }) => Destination)).toEqual(['/data']);
    // The proxy tells of a call when it has ended.
    await expect.poll(() => misfits(servers)).toEqual({ calls: [], lines: [] });

    // Without a call it is said which one.
    await proxy.restart(servers.filter(({ path }) => !path.test('/containers/create')));
    const refused = await instance.status({ refresh: true });
    expect(refused.reason).toEqual({
      code: 'no-engine',
      message: `${proxy.address} answers, and does not let through what is asked: what stands before the engine refuses POST /containers/create (status 403)`,
    });

    const byHand = {
      socket: null,
      env: { DOCKER_HOST: proxy.address },
      docker: ['--add-host', `${proxyName}:host-gateway`],
    };
    await proxy.restart(all.filter(({ path }) => !path.test('/images/create')));
    const { log } = await instance.update(['--target', 'v1.2.0'], byHand);
    expect(log).toContain('svc:v1.2.0: what stands before the engine refuses /images/create (403 Forbidden)');
    expect(log).toMatch(
      / done failed \(pull-failed\): nothing was changed, .* Next: Let the proxy pass every call/,
    );

    // An engine that the proxy does not reach for a while is waited for.
    await proxy.restart(all);
    const run = instance.startUpdate(['--target', 'v1.2.0'], byHand);
    await run.waitFor(' INFO  inspect svc-updater ');
    await proxy.restart(all, false);
    await run.waitFor('the engine went away; waiting');
    await proxy.restart(all);
    const ended = await run.done;
    expect(ended.log).toContain('the engine is back; going on');
    expect(ended.log).toContain(' INFO  done updated v1.1.0 → v1.2.0');
    expect(ended.exitCode).toBe(0);
    expect(await instance.version()).toBe('v1.2.0');
    await expect.poll(() => misfits(all)).toEqual({ calls: [], lines: [] });
  });
});
