import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { runStates } from '../../src/wire/codes.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { look } from '../judge/look.ts';
import { type BadEngine, startBadEngine } from '../rig/bad-engine.ts';
import { plainPhases } from '../rig/phases.ts';
import { updatePath } from '../rig/server/server-instance.ts';
import { updaterImage } from '../rig/updater-run.ts';
import {
  createServerInstance,
  follow,
  inspect,
  judgeHold,
  removeContainer,
  type ServerInstance,
  updaterOf,
  waitForEnd,
} from './support/server.ts';

describe('a server that updates itself', () => {
  it('is replaced while a client follows the run, and the new server reports the run', async () => {
    const engine = await startBadEngine(
      join(inject('host').directory, `${randomBytes(3).toString('hex')}.sock`),
    );
    onTestFinished(() => engine.close());
    const instance = await createServerInstance({
      settings: { REGISTRY_CREDENTIALS: '/data/config.json', SVC_SOCKET: engine.socket },
    });
    await instance.write('data/config.json', '{}');
    await instance.offer('v1.0.0', 'v1.1.0', 'v1.2.0-canary.1');
    const before = await look(instance);
    expect(await instance.status({ refresh: true })).toMatchObject({
      version: 'v1.0.0',
      channel: 'stable',
      latest: { version: 'v1.1.0', notes: null },
      updateAvailable: true,
      canUpdate: true,
      reason: null,
      run: null,
    });
    // An exited updater of another instance has the name. It is renamed and keeps its log.
    const foreign = await createUpdater(updaterOf(instance), {
      'svc-updater.project': 'x',
      'svc-updater.directory': '/x',
    });

    const launch = holdLaunch(engine, updaterOf(instance));
    const answer = await instance.startUpdateOverHttp();
    expect(answer.status).toBe(202);
    expect(answer.headers.get('location')).toBe(`${updatePath}/progress`);
    const started = (await answer.json()) as { id: string };
    expect(started).toMatchObject({ state: 'launching', from: 'v1.0.0', to: 'v1.1.0', outcome: null });
    const { promise: isFollowed, resolve } = Promise.withResolvers<void>();
    const following = follow(instance, () => resolve());
    await isFollowed;
    const waiting = await instance.addJob({ kind: 'backup', milliseconds: 1 });
    const again = await instance.startUpdateOverHttp();
    expect(again.status).toBe(409);
    expect(again.headers.get('content-type')).toBe('application/problem+json');
    expect(await again.json()).toMatchObject({ status: 409, reason: { code: 'update-running' } });
    launch();
    const container = await launched(updaterOf(instance), foreign);

    const { runs, lines, events, reconnections } = await following;
    expect(reconnections).toBeGreaterThan(0);
    const met = <T>(words: T[]) => words.filter((word, at) => word !== words[at - 1]);
    expect(met(lines.map(({ phase }) => phase))).toEqual(plainPhases);
    // Simultaneous changes are sent as one event, and states only move forward.
    const states = met(runs.map(({ state }) => state));
    expect([states[0], states.at(-1)]).toEqual(['launching', 'updated']);
    expect(states).toEqual(runStates.filter((state) => states.includes(state)));
    expect(new Set(runs.map(({ id }) => id))).toEqual(new Set([started.id]));
    // Each line is received once and in order, from both servers.
    const numbers = events.flatMap(({ event, id }) => (event === 'line' ? [Number(id?.split(':')[1])] : []));
    expect(numbers).toEqual(numbers.map((_, at) => at + 1));
    expect(lines.at(-1)?.message).toMatch(/^updated v1\.0\.0 → v1\.1\.0 in \d+ s;/);
    expect(runs.at(-1)).toMatchObject({
      outcome: 'updated',
      message: lines.at(-1)?.message,
      phase: 'verify',
    });

    const run = await waitForEnd(instance);
    expect(run).toMatchObject({ id: started.id, state: 'updated', from: 'v1.0.0', to: 'v1.1.0' });
    // Reported once, by the new server. The queue was held from before the launch to after the end.
    const ended = async () =>
      (await instance.ended()).map(({ version, run: { state } }) => `${version} ${state}`);
    await expect.poll(ended).toEqual(['v1.1.0 updated']);
    const holds = await instance.holds();
    expect(judgeHold(holds, run)).toEqual([]);
    const calls = holds.map(({ version, action }) => `${version} ${action}`);
    expect(calls.slice(0, 3)).toEqual([
      'v1.0.0 resume',
      // Before the server lists the jobs, and again right before the launch.
      'v1.0.0 hold',
      'v1.0.0 hold',
    ]);
    // The queue stores the hold. A new server that starts after the end of the run only resumes the queue.
    expect(calls.slice(3).filter((call) => call !== 'v1.1.0 hold')).toEqual(['v1.1.0 resume']);
    // The waiting job runs once, after the update.
    const job = async () => (await instance.jobs()).find(({ id }) => id === waiting.id);
    await expect.poll(job).toMatchObject({ progress: 'done', runs: 1 });
    const begun = (await job())?.started ?? '';
    expect(Date.parse(begun)).toBeGreaterThanOrEqual(Date.parse(run.endedAt ?? ''));
    // The status is correct once the new server has read the releases.
    await expect
      .poll(() => instance.status())
      .toMatchObject({
        version: 'v1.1.0',
        updateAvailable: false,
        canUpdate: false,
        reason: { code: 'up-to-date' },
      });

    expectContainer(container, instance, engine.socket, started.id);
    expect(await inspect(`${updaterOf(instance)}-${foreign.slice(0, 12)}`)).toMatchObject({ Id: foreign });
    await removeContainer(foreign);

    await removeContainer(updaterOf(instance));
    const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
    expect(judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed })).toEqual([]);
  });
});

/** Delays the launch of the updater until the returned function is called. */
function holdLaunch(engine: BadEngine, name: string): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  engine.fail(async (asked) => {
    if (asked.includes(`/containers/create?name=${name}`)) await promise;
    return false;
  });
  return () => {
    engine.fail(null);
    resolve();
  };
}

/** Creates an exited updater container and returns its id. */
async function createUpdater(name: string, labels: Record<string, string>): Promise<string> {
  const flags = Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]);
  await execa('docker', ['run', '--name', name, ...flags, updaterImage, '--version']);
  return (await inspect(name)).Id;
}

// biome-ignore lint/suspicious/noExplicitAny: as the engine says it
async function launched(name: string, not: string): Promise<any> {
  for (let tries = 0; tries < 2_000; tries++) {
    const found = await inspect(name);
    if (found !== null && found.Id !== not) return found;
    await sleep(25);
  }
  throw new Error('no updater was launched');
}

/** Exactly the mounts, capabilities, network and policy of docs/contract.md 8.10. */
function expectContainer(
  // biome-ignore lint/suspicious/noExplicitAny: as the engine says it
  container: any,
  { directory, project }: ServerInstance,
  socket: string,
  run: string,
): void {
  const { HostConfig: host, Config: config, NetworkSettings: network } = container;
  const bind = (Source: string, Target = Source) => ({ Type: 'bind', Source, Target });
  expect(host.Mounts).toEqual([
    bind(socket),
    bind(directory),
    { ...bind(`${directory}/data/config.json`, '/root/.docker/config.json'), ReadOnly: true },
  ]);
  expect(container.Mounts.map(({ Destination }: { Destination: string }) => Destination).sort()).toEqual(
    ['/root/.docker/config.json', socket, directory].sort(),
  );
  expect({
    binds: host.Binds,
    network: host.NetworkMode,
    networks: Object.keys(network.Networks),
    drop: host.CapDrop,
    add: host.CapAdd.map((name: string) => name.replace(/^CAP_/, '')).sort(),
    security: [...host.SecurityOpt].sort(),
    userns: host.UsernsMode,
    privileged: host.Privileged,
    pid: host.PidMode,
    restart: host.RestartPolicy,
    autoRemove: host.AutoRemove,
    stopTimeout: config.StopTimeout,
    ports: host.PortBindings ?? {},
    image: config.Image,
    args: config.Cmd,
    labels: [
      config.Labels['svc-updater.project'],
      config.Labels['svc-updater.directory'],
      config.Labels['svc-updater.run'],
    ],
  }).toEqual({
    binds: null,
    network: 'none',
    networks: ['none'],
    drop: ['ALL'],
    add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'],
    security: ['label=disable', 'no-new-privileges'],
    userns: 'host',
    privileged: false,
    pid: '',
    restart: { Name: 'on-failure', MaximumRetryCount: 3 },
    autoRemove: false,
    stopTimeout: 120,
    ports: {},
    image: updaterImage,
    args: ['update', '--target', 'v1.1.0', '--project', project, '--dir', directory, '--log', 'json'],
    labels: [project, directory, run],
  });
}
