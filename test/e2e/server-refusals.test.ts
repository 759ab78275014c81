import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ReasonCode } from '../../src/wire/codes.ts';
import { startBadEngine } from '../rig/bad-engine.ts';
import { type BadRegistry, registryFaults, startBadRegistry } from '../rig/bad-registry.ts';
import { engineSocket } from '../rig/engine-api.ts';
import { freePort } from '../rig/free-port.ts';
import type { JobRequest } from '../rig/server/job-queue.ts';
import { startServerInstance, updatePath } from '../rig/server/server-instance.ts';
import { alone } from './support/instance.ts';
import {
  inspect,
  publishStandIn,
  removeContainer,
  type ServerInstance,
  updaterOf,
  waitForEnd,
  waitForStatus,
} from './support/server.ts';

// What stands where the updater would; its second argument is the target.
const standIn = `
case $2 in
  v1.1.0 | canary) say inspect looking; while :; do sleep 3600; done ;;
  v2.0.0) say inspect looking; exit 7 ;;
  v3.0.0) if test -e /tmp/once; then say verify again; say done updated all; exit 0; fi
          : >/tmp/once; say pull 40% here; exit 1 ;;
  v4.0.0) say inspect looking; say "done refused (downgrade): not today. Next: Wait."; exit 3 ;;
  *) exit 2 ;;
esac`;

const password = 'correct-horse';
let registry: BadRegistry;
let instance: ServerInstance;

beforeAll(async () => {
  const host = inject('host');
  registry = await startBadRegistry(host.registry, { user: 'me', password });
  const repository = `${host.run}/stand-in`;
  await publishStandIn(repository, standIn);
  instance = await startServerInstance(host, {
    ...alone,
    settings: {
      UPDATER_IMAGE: `${registry.host}/${repository}:v1.0.0`,
      UPDATER_PULL: 'always',
      REGISTRY_CREDENTIALS: '/data/config.json',
    },
  });
  await logIn(password);
  await instance.offer('v1.1.0');
  await instance.status({ refresh: true });
});

afterAll(async () => {
  await instance?.dispose();
  await registry?.close();
});

const logIn = (secret: string) =>
  instance.write(
    'data/config.json',
    JSON.stringify({ auths: { [registry.host]: { auth: Buffer.from(`me:${secret}`).toString('base64') } } }),
  );

/** Starts a run of the stand-in's, and gives its id once it is there. */
async function start(target?: string): Promise<string> {
  const answer = await instance.startUpdateOverHttp(target);
  const body = (await answer.json()) as { id: string };
  expect({ status: answer.status, body }).toMatchObject({ status: 202 });
  return body.id;
}

async function refusal(target?: string) {
  const answer = await instance.startUpdateOverHttp(target);
  expect(answer.status).toBe(409);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  return ((await answer.json()) as { reason: { code: ReasonCode; message: string; since?: string } }).reason;
}

const isHeld = async () => (await instance.holds()).at(-1)?.action === 'hold';

describe('an update is refused', () => {
  it.each<[ReasonCode, JobRequest]>([
    ['deployment-queued', { kind: 'deployment', milliseconds: 1, state: 'queued' }],
    ['deployment-running', { kind: 'deployment', milliseconds: 600_000 }],
    ['backup-running', { kind: 'backup', milliseconds: 600_000 }],
    ['cron-running', { kind: 'cron', milliseconds: 600_000 }],
    ['cleanup-running', { kind: 'cleanup', milliseconds: 600_000 }],
    ['job-running', { kind: 'job', milliseconds: 600_000 }],
  ])('%s, and the hold released', async (code, job) => {
    const { id } = await instance.addJob(job);
    const { code: given, since } = await refusal();
    expect(given).toBe(code);
    expect(Math.abs(Date.parse(since ?? '') - Date.now())).toBeLessThan(20_000);
    expect((await instance.holds()).slice(-2).map(({ action }) => action)).toEqual(['hold', 'resume']);
    expect((await instance.status({ refresh: false })).canUpdate).toBe(false);
    await instance.endJob(id);
    await waitForStatus(instance, ({ canUpdate }) => canUpdate);
    expect((await instance.jobs()).find((one) => one.id === id)?.progress).toBe('done');
    expect(await inspect(updaterOf(instance))).toBeNull();
  });

  it('up-to-date, where what is named runs already or is older', async () => {
    expect(await refusal('v1.0.0')).toEqual({ code: 'up-to-date', message: 'v1.0.0 runs already' });
    expect(await refusal('v0.9.0')).toMatchObject({ message: expect.stringContaining('no downgrade') });
    expect(await isHeld()).toBe(false);
  });

  it('update-running, where another instance updates on this engine', async () => {
    const name = updaterOf(instance);
    const labels = ['--label', 'svc-updater.project=other', '--label', 'svc-updater.directory=/opt/other'];
    await execa('docker', ['run', '--detach', '--name', name, ...labels, instanceImage(), 'tunnel']);
    const { code, message } = await refusal();
    expect(code).toBe('update-running');
    expect(message).toContain(`container ${name} (project other in /opt/other)`);
    expect(await instance.status()).toMatchObject({ run: null, canUpdate: false });
    expect(await isHeld()).toBe(false);
    await removeContainer(name);
    await waitForStatus(instance, ({ canUpdate }) => canUpdate);
  });

  it.each<[ReasonCode, string[]]>([
    ['not-compose', ['-v', `${engineSocket}:/var/run/docker.sock`]],
    ['no-engine', []],
  ])('%s, by a server that is no compose service or has no socket', async (code, flags) => {
    await withServerByHand(flags, async (ask, holds) => {
      const answer = async () => (await ask(updatePath, { method: 'POST' })).json();
      await expect.poll(answer).toMatchObject({ status: 409, reason: { code } });
      expect(await (await ask(updatePath)).json()).toMatchObject({
        canUpdate: false,
        reason: { code },
        run: null,
      });
      // Nothing is held where no update can be.
      expect(await holds()).toEqual(['resume']);
    });
  });
});

const instanceImage = () => `${instance.image}:v1.0.0`;

/** The instance's server in a container that is no compose service, while the test has it; `holds` is null until it answers. */
async function withServerByHand(
  flags: readonly string[],
  use: (
    ask: (path: string, init?: RequestInit) => Promise<Response>,
    holds: () => Promise<string[] | null>,
  ) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const name = `${instance.name}-by-hand`;
  const environment = ['-e', 'UPDATER_IMAGE=acme/svc-updater:v1', '-e', 'DATA=/tmp'];
  const args = [...flags, ...environment, '-p', `127.0.0.1:${port}:8080`, instanceImage(), 'app'];
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: 'Bearer admin-token' }, ...init });
  const holds = async () => {
    const answer = await ask('/test/holds').catch(() => null);
    const entries = (await answer?.json()) as { action: string }[] | undefined;
    return entries?.map(({ action }) => action) ?? null;
  };
  await execa('docker', ['run', '--detach', '--name', name, ...args]);
  try {
    await use(ask, holds);
  } finally {
    await removeContainer(name);
  }
}

describe('the endpoints', () => {
  it.each<[string, 'admin' | 'user' | null, object, number]>([
    ['', null, {}, 401],
    ['', null, { method: 'POST' }, 401],
    ['', 'user', { method: 'POST' }, 403],
    ['/progress', 'user', {}, 403],
    ['/channel', 'user', { method: 'PUT', body: '{"channel":"canary"}' }, 403],
    ['', null, { method: 'POST', headers: { cookie: 'session=admin', 'sec-fetch-site': 'cross-site' } }, 403],
    ['', 'admin', { method: 'POST', body: 'x'.repeat(16 * 1024 + 1) }, 413],
    ['', 'admin', { method: 'DELETE' }, 405],
  ])('%s, for %s with %j: %i, and nothing happens', async (path, as, init, status) => {
    const before = (await instance.holds()).length;
    expect((await instance.ask(`${updatePath}${path}`, { as, ...init })).status).toBe(status);
    expect((await instance.holds()).length).toBe(before);
    expect((await instance.status()).channel).toBe('stable');
  });

  it('tell a user the version and nothing else', async () => {
    const answer = await instance.ask(updatePath, { as: 'user' });
    expect(await answer.json()).toEqual({ version: 'v1.0.0', updating: false });
  });

  it('move to the canary channel and back', async () => {
    const choose = async (channel: string) => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'PUT', headers, body: JSON.stringify({ channel }) };
      return (await instance.ask(`${updatePath}/channel`, init)).json();
    };
    await instance.offer('v1.1.0', 'v1.2.0-canary.9', 'v1.2.0-canary.10');
    // Within ten seconds of another, a refresh is none: the server's first check after a restart is at once.
    await instance.compose('restart', 'app');
    await waitForStatus(
      instance,
      ({ checkedAt, latest }) => checkedAt !== null && latest?.version === 'v1.1.0',
    );
    expect(await choose('canary')).toMatchObject({
      channel: 'canary',
      latest: { version: 'v1.2.0-canary.10' },
    });
    const id = await start();
    await waitForStatus(instance, ({ run }) => run?.state === 'inspect');
    expect(await instance.progress()).toMatchObject({ id, to: 'v1.2.0-canary.10' });
    expect((await inspect(updaterOf(instance))).Config.Cmd).toContain('canary');
    await removeContainer(updaterOf(instance));
    await waitForEnd(instance);
    expect(await choose('stable')).toMatchObject({ channel: 'stable', latest: { version: 'v1.1.0' } });
  });
});

describe('a run', () => {
  it('ends failed where the image of the updater cannot be pulled, and the hold is released', async () => {
    for (const [fault, sentence] of [
      [registryFaults.unknown, 'no such tag'],
      [registryFaults.forbidden, 'refuses access'],
    ] as const) {
      registry.fail(fault);
      const id = await start();
      const run = await waitForEnd(instance);
      expect(run).toMatchObject({
        id,
        state: 'failed',
        phase: null,
        message: expect.stringContaining('nothing was changed'),
        cause: expect.stringContaining(sentence),
      });
    }
    registry.fail(null);
    await logIn('wrong');
    await start();
    expect(await waitForEnd(instance)).toMatchObject({ state: 'failed' });
    await logIn(password);
    expect(await inspect(updaterOf(instance))).toBeNull();
    // The queue goes on first.
    const told = async () => (await instance.ended()).slice(-3).map(({ run: { state } }) => state);
    await expect.poll(told).toEqual(['failed', 'failed', 'failed']);
  });

  it('is started once by 50 at the same moment', async () => {
    // Some are refused for what they name, and none of those may release what the others hold.
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        instance.startUpdateOverHttp(at % 10 === 0 ? 'v1.0.0' : undefined),
      ),
    );
    const bodies = (await Promise.all(answers.map((answer) => answer.json()))) as {
      reason?: { code: string };
      id?: string;
    }[];
    expect(bodies.filter(({ id }) => id !== undefined)).toHaveLength(1);
    const codes = bodies.flatMap(({ reason }) => reason?.code ?? []);
    expect(codes).toHaveLength(49);
    expect(codes.filter((code) => code === 'update-running').length).toBeGreaterThanOrEqual(44);
    expect(['update-running', 'up-to-date']).toEqual(expect.arrayContaining([...new Set(codes)]));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, ...Array(49).fill(409)]);
    const { run } = await waitForStatus(instance, (status) => status.run?.state === 'inspect');
    expect(run?.id).toBe(bodies.find(({ id }) => id !== undefined)?.id);
    expect(await isHeld()).toBe(true);
    expect((await instance.holds()).filter(({ action }) => action === 'hold').length).toBeLessThan(60);
  });

  it('is crashed, and the hold released, where its container is gone', async () => {
    await removeContainer(updaterOf(instance));
    const run = await waitForEnd(instance);
    expect(run).toMatchObject({
      state: 'crashed',
      phase: 'inspect',
      message: expect.stringContaining('is gone'),
    });
  });

  it('neither loses nor runs a job that comes while it is being started', async () => {
    const answered: number[] = [];
    // The last one comes when the update is accepted, however slow the machine is: the queue is held by then.
    for (const delay of [0, 2, 4, 6, 9, 12, 16, 20, null]) {
      // One that is refused for what it names: it must not release what the other holds.
      const refused = instance.startUpdateOverHttp('v1.0.0');
      const starting = instance.startUpdateOverHttp();
      await (delay === null ? starting : sleep(delay));
      const { id } = await instance.addJob({ kind: 'job', milliseconds: 30 });
      const answer = await starting;
      answered.push(answer.status);

      if (answer.status === 202) {
        await waitForStatus(instance, (status) => status.run?.state === 'inspect');
        expect((await refused).status).toBe(409);
        expect(await isHeld()).toBe(true);
        await removeContainer(updaterOf(instance));
        await waitForEnd(instance);
      }
      const done = async () => (await instance.jobs()).find((job) => job.id === id);
      await expect.poll(done, { timeout: 30_000 }).toMatchObject({ progress: 'done', runs: 1 });
      if (answer.status !== 202) continue;
      const job = await done();
      const holds = await instance.holds();
      // It is held once more right before the launch: what ran then would have been seen.
      const launched = holds.findLast(({ action }) => action === 'hold')?.time ?? '';
      const released = holds.at(-1)?.time ?? '';
      const before = Date.parse(job?.ended ?? '') <= Date.parse(launched);
      const after = Date.parse(job?.started ?? '') >= Date.parse(released);
      expect({ delay, job, launched, released, apart: before || after }).toMatchObject({ apart: true });
    }
    expect(answered).toContain(202);
    expect([202, 409]).toEqual(expect.arrayContaining([...new Set(answered)]));
  });

  it('goes on across a restart of the updater', async () => {
    const id = await start('v3.0.0');
    const run = await waitForEnd(instance);
    expect(run).toMatchObject({ id, state: 'updated', phase: 'verify', message: 'updated all' });
    const lines: string[] = [];
    for await (const event of instance.events({ lastEventId: `${id}:0` })) {
      if (event.event === 'line') lines.push(`${event.id} ${JSON.parse(event.data).message}`);
    }
    expect(lines).toEqual([`${id}:1 here`, `${id}:2 again`, `${id}:3 updated all`]);
  });

  it('goes on where what has stopped is started again, as an engine does that was restarted itself', async () => {
    const id = await start('v1.1.0');
    await waitForStatus(instance, ({ run }) => run?.state === 'inspect');
    await execa('docker', ['kill', updaterOf(instance)]);
    await sleep(1_000);
    expect(await instance.progress()).toMatchObject({ id, state: 'inspect', outcome: null });
    await execa('docker', ['start', updaterOf(instance)]);
    for await (const event of instance.events({ lastEventId: `${id}:1` })) {
      if (event.id === `${id}:2`) break;
    }
    expect(await isHeld()).toBe(true);
    await removeContainer(updaterOf(instance));
    expect(await waitForEnd(instance)).toMatchObject({ id, state: 'crashed' });
  });

  it('is crashed where it has ended for good without an outcome', async () => {
    await start('v2.0.0');
    const run = await waitForEnd(instance);
    expect(run).toMatchObject({ state: 'crashed', message: expect.stringContaining('code 7') });
    expect((await inspect(updaterOf(instance))).RestartCount).toBe(3);
  });

  it('is as the updater says where it refuses, and the hold is released', async () => {
    await start('v4.0.0');
    expect(await waitForEnd(instance)).toMatchObject({
      state: 'refused',
      message: 'not today',
      code: 'downgrade',
      advice: 'Wait.',
    });
  });

  it('has the queue held while nobody can tell whether one is on', async () => {
    const engine = await startBadEngine(join(instance.directory, 'data', 'engine.sock'));
    engine.hang(/./);
    try {
      await withServerByHand(['-v', `${engine.socket}:/var/run/docker.sock`], async (ask, holds) => {
        await expect.poll(holds, { timeout: 40_000 }).toEqual(['hold']);
        expect(await (await ask(updatePath)).json()).toMatchObject({
          canUpdate: false,
          reason: { code: 'no-engine' },
        });
        engine.hang(null);
        await expect.poll(holds, { timeout: 40_000 }).toEqual(['hold', 'resume']);
      });
    } finally {
      await engine.close();
    }
  });

  it('is noticed where somebody starts it by hand, and holds the queue', async () => {
    await removeContainer(updaterOf(instance));
    const mount = ['-v', `${instance.directory}:${instance.directory}`];
    const reference = `${registry.host}/${inject('host').run}/stand-in:v1.0.0`;
    const command = ['--name', updaterOf(instance), ...mount, reference, 'update', '--target', 'v1.1.0'];
    await execa('docker', ['run', '--detach', ...command]);
    const { run, reason } = await waitForStatus(instance, (status) => status.run?.state === 'inspect');
    expect(run).toMatchObject({ to: 'v1.1.0', from: null });
    expect(reason).toMatchObject({ code: 'update-running' });
    expect(await isHeld()).toBe(true);
    expect((await refusal()).code).toBe('update-running');
    expect(await isHeld()).toBe(true);
    // A server that is started anew goes on with it.
    await instance.compose('restart', 'app');
    await waitForStatus(instance, (status) => status.run?.state === 'inspect');
    expect(await isHeld()).toBe(true);
    await removeContainer(updaterOf(instance));
    expect(await waitForEnd(instance)).toMatchObject({ state: 'crashed' });
    const told = async () => (await instance.ended()).at(-1);
    await expect.poll(told).toMatchObject({ run: { state: 'crashed' } });
  });
});
