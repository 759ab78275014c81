import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import type { Run, Status } from '../../src/wire/status.ts';
import { libraryRows } from '../documents/calls.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { startBadRegistry } from '../rig/bad-registry.ts';
import { engineSocket } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import { startLoadBalancer } from '../rig/server/load-balancer.ts';
import { updatePath } from '../rig/server/server-instance.ts';
import {
  type AllowedCall,
  allowedCalls,
  lets,
  proxyName,
  type SocketProxy,
  startSocketProxy,
} from '../rig/socket-proxy.ts';
import { updaterImage } from '../rig/updater-run.ts';
import { alone } from './support/instance.ts';
import {
  askReplica,
  createServerInstance,
  follow,
  inspect,
  judgeHold,
  removeContainer,
  updaterOf,
  waitForEnd,
} from './support/server.ts';

// A proxy between the server and its engine, and a load balancer in front of two servers of the same instance.

const all = await allowedCalls();
const servers = all.filter(({ isServers }) => isServers);
/** Bytes in a release that the engine does not have yet. */
const ballast = 12_000_000;
let port: number;
let proxy: SocketProxy;

beforeAll(async () => {
  port = await freePort();
  proxy = await startSocketProxy(port, servers);
});
afterAll(() => proxy?.close());

/** Calls that no line allows, and unused lines that are not marked as rare. */
function misfits(lines: readonly AllowedCall[]): { calls: string[]; lines: string[] } {
  const strangers = proxy.calls.filter((call) => !lines.some((line) => lets(line, call)));
  const unused = lines.filter((line) => !line.isRare && !proxy.calls.some((call) => lets(line, call)));
  return {
    calls: strangers.map(({ method, path, status }) => `${method} ${path} (${status})`),
    lines: unused.map(({ line }) => line),
  };
}

describe('the list of calls that a socket proxy must allow', () => {
  it('has a line for each call of the server library', () => {
    const paths = libraryRows.map(({ call }) => {
      const [method = '', path = ''] = call.split(' ');
      return { method, path: path.replace('{reference}', 'a/b:1').replace('{id}', 'x'), status: 200 };
    });
    expect(paths.filter((call) => !servers.some((line) => lets(line, call)))).toEqual([]);
    expect(servers.filter((line) => !paths.some((call) => lets(line, call)))).toEqual([]);
  });

  it('is sufficient for an update by the server and for a manual update', async () => {
    const instance = await createServerInstance({
      compose: { volumes: [], extra: { app: `extra_hosts: ['${proxyName}:host-gateway']` } },
      settings: { ENGINE: proxy.address, UPDATER_SOCKET: engineSocket },
      publish: ['v1.1.0', 'v1.2.0'],
    });
    await instance.offer('v1.1.0');
    expect(await instance.status({ refresh: true })).toMatchObject({ canUpdate: true, reason: null });
    // The stopped updater of another instance has the name, so the server renames it.
    const foreign = ['--label', 'svc-updater.project=x', '--label', 'svc-updater.directory=/x'];
    await execa('docker', ['run', '--name', updaterOf(instance), ...foreign, updaterImage, '--version']);

    expect((await instance.startUpdateOverHttp()).status).toBe(202);
    expect((await follow(instance)).runs.at(-1)).toMatchObject({ state: 'updated', to: 'v1.1.0' });
    await waitForEnd(instance);
    const app = await inspect(`${instance.project}-app-1`);
    expect(app.Mounts.map(({ Destination }: { Destination: string }) => Destination)).toEqual(['/data']);
    // The proxy reports a call only when the call has finished.
    await expect.poll(() => misfits(servers)).toEqual({ calls: [], lines: [] });

    // The error message contains the missing call.
    await proxy.restart(servers.filter(({ path }) => !path.test('/containers/create')));
    const reason = async () => (await instance.status({ refresh: true })).reason;
    await expect.poll(reason, { interval: 1_000 }).toEqual({
      code: 'no-engine',
      message: `the proxy at ${proxy.address} rejects a request to the engine: a proxy in front of the engine blocks POST /containers/create (status 403)`,
    });

    await proxy.restart(all);
    const { log, exitCode } = await instance.update(['--target', 'v1.2.0'], {
      socket: null,
      env: { DOCKER_HOST: proxy.address },
      docker: ['--add-host', `${proxyName}:host-gateway`],
    });
    expect(exitCode, log).toBe(0);
    expect(await instance.version()).toBe('v1.2.0');
    // The helper container needs `attach`; if it is denied, the host is not checked, and the log contains a
    // warning.
    expect(log).toContain('the host was not checked, because the engine denied a request');
    const isAttach = (call: string) => /^POST \S+\/attach\S* \(403\)$/.test(call);
    const others = () => ({ ...misfits(all), calls: misfits(all).calls.filter((call) => !isAttach(call)) });
    await expect.poll(others).toEqual({ calls: [], lines: [] });
  });
});

it('two servers that receive a request at the same time start one run, are both replaced and report its outcome once', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const instance = await createServerInstance({
    ...alone,
    registry: registry.host,
    publish: [],
    compose: { port: null, extra: { app: 'deploy: { replicas: 2 }' } },
  });
  const balancer = await startLoadBalancer(instance, '/version');
  onTestFinished(() => balancer.stop());
  await instance.publish('v1.1.0', { ballast });
  await instance.offer('v1.1.0');
  const both = [1, 2] as const;
  const statusAt = async (number: 1 | 2, query = '') =>
    (await (await askReplica(instance, number, `${updatePath}${query}`)).json()) as Status;
  const bothSay = async (wanted: object, query = '') => {
    for (const number of both)
      await expect.poll(() => statusAt(number, query).catch(() => null)).toMatchObject(wanted);
  };
  await bothSay({ canUpdate: true }, '?refresh=1');
  const before = await look(instance);

  // No server is replaced until the client follows the run.
  const { promise: isFollowed, resolve: goOn } = Promise.withResolvers<void>();
  registry.fail({ kind: 'late', after: ballast / 4, until: isFollowed }, { on: 'blobs' });
  const answers = await Promise.all(
    both.map((number) => askReplica(instance, number, updatePath, { method: 'POST' })),
  );
  expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409]);
  const bodies = (await Promise.all(answers.map((answer) => answer.json()))) as Partial<Run>[];
  const id = bodies.find((body) => body.id !== undefined)?.id;
  expect(bodies).toContainEqual(
    expect.objectContaining({ reason: expect.objectContaining({ code: 'update-running' }) }),
  );
  const following = follow(instance, () => goOn());
  await bothSay({ run: { id } });

  const { events, lines, runs, reconnections } = await following;
  expect(reconnections).toBeGreaterThan(0);
  const numbers = events.flatMap(({ event, id }) => (event === 'line' ? [Number(id?.split(':')[1])] : []));
  expect(numbers).toEqual(numbers.map((_, at) => at + 1));
  expect(new Set(runs.map((run) => run.id))).toEqual(new Set([id]));
  expect(lines.at(-1)?.message).toMatch(/^updated v1\.0\.0 → v1\.1\.0 /);

  const run: Run = await waitForEnd(instance);
  expect(run).toMatchObject({ id, state: 'updated', by: 'admin' });
  await bothSay({ version: 'v1.1.0', run: { id, state: 'updated' }, reason: { code: 'up-to-date' } });
  expect(judgeHold(await instance.holds(), run)).toEqual([]);
  const callers = async () => new Set((await instance.holds()).map(({ server }) => server)).size;
  await expect.poll(callers).toBe(4);
  expect((await instance.ended()).map(({ run }) => run.state)).toEqual(['updated']);
  await removeContainer(updaterOf(instance));
  const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
  expect(judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed })).toEqual([]);
});
