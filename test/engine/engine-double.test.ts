import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { EngineFault } from '../../src/engine/http/fault.ts';
import { EngineSocket } from '../../src/engine/socket.ts';
import { EngineDouble } from '../rig/engine-double/engine-double.ts';
import { goodRun, lineOf, workOf } from '../rig/engine-double/script.ts';

// The stand-in is believed by many tests, so it is held to what a real engine was seen to do.

let engine: EngineDouble;
let client: EngineSocket;
const never = new AbortController().signal;

beforeEach(async () => {
  engine = await EngineDouble.start();
  engine.images.publish('acme/svc-updater:v1.0.0', {
    labels: { 'org.opencontainers.image.version': '1.0.0' },
  });
  client = new EngineSocket(engine.path);
});
afterEach(async () => {
  await engine.close();
});

const reference = { repository: 'acme/svc-updater', tag: 'v1.0.0' };
const spec = {
  name: 'svc-updater',
  Image: 'acme/svc-updater:v1.0.0',
  Cmd: ['update', '--target', 'v1.5.0'],
  Env: ['DOCKER_HOST=unix:///var/run/docker.sock'],
  Labels: { 'svc-updater.project': 'svc', 'svc-updater.from': 'v1.4.2' },
  HostConfig: {
    Mounts: [{ Type: 'bind' as const, Source: '/srv/svc', Target: '/srv/svc', ReadOnly: false }],
    RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 },
  },
};

async function started(): Promise<string> {
  await client.pull(reference, null, () => {}, never);
  const id = await client.create(spec);
  await client.start(id);
  return id;
}

async function linesOf(id: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of client.logs(id, never)) lines.push(line);
  return lines;
}

const refusalOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'nothing',
    (error) => (error instanceof EngineFault ? `${error.status} ${error.message}` : error),
  );

describe('the engine of the tests', () => {
  it('pulls, makes, starts and removes a container', async () => {
    expect(await client.image(spec.Image)).toBeNull();
    expect(await refusalOf(client.create(spec))).toBe(`404 No such image: ${spec.Image}`);
    const progress: (number | null)[] = [];
    await client.pull(reference, null, ({ percent }) => progress.push(percent), never);
    expect(progress.at(-1)).toBe(99);
    expect(await client.image(spec.Image)).toMatchObject({
      labels: { 'org.opencontainers.image.version': '1.0.0' },
    });
    const id = await client.create(spec);
    expect(await client.inspect('svc-updater')).toMatchObject({
      ...{ id, name: 'svc-updater', status: 'created', startedAt: '0001-01-01T00:00:00Z', args: spec.Cmd },
      ...{ imageReference: spec.Image, restartPolicy: 'on-failure', labels: spec.Labels, stopTimeout: 10 },
      mounts: [{ type: 'bind', source: '/srv/svc', destination: '/srv/svc', writable: true }],
    });
    await client.start(id);
    expect(await client.inspect(id.slice(0, 12))).toMatchObject({ status: 'running', exitCode: 0 });
    expect(await refusalOf(client.start(id))).toBe('nothing');
    expect(engine.recorded(/start$/).toString()).toMatch(/^HTTP\/1\.1 304 Not Modified\r\n/);
    expect(await client.inspect(id)).toMatchObject({ status: 'running', restartCount: 0 });
    expect(await refusalOf(client.remove(id))).toMatch(/^409 cannot remove container "\/svc-updater"/);
    expect(await refusalOf(client.create(spec))).toBe(
      `409 Conflict. The container name "/svc-updater" is already in use by container "${id}". You have to remove (or rename) that container to be able to reuse that name.`,
    );
    await client.rename(id, 'other');
    expect(await client.inspect('svc-updater')).toBeNull();
    await client.remove(id, { force: true });
    expect(await client.inspect(id)).toBeNull();
    expect(await refusalOf(client.start(id))).toBe(`404 No such container: ${id}`);
  });

  it('refuses what it cannot mount or find', async () => {
    await client.pull(reference, null, () => {}, never);
    engine.missing.add('/srv/svc');
    expect(await refusalOf(client.create(spec))).toBe(
      '400 invalid mount config for type "bind": bind source path does not exist: /srv/svc',
    );
    const gone = client.pull({ repository: 'acme/svc', tag: 'v9' }, null, () => {}, never);
    expect(await refusalOf(gone)).toMatch(/^404 manifest for acme\/svc:v9 not found/);
    expect(await client.remoteDigest(spec.Image, null)).toBe(engine.images.digestOf(spec.Image));
  });

  it('lists by label', async () => {
    await engine.addServer({ name: 'svc-worker-1', service: 'worker' });
    expect(await client.list({ label: ['com.docker.compose.service=worker'] })).toHaveLength(1);
    expect(await client.list({ label: ['com.docker.compose.service'], status: ['exited'] })).toEqual([]);
    expect(await client.list({ label: ['com.docker.compose.project=other'] })).toEqual([]);
  });

  it('plays a run, whose log ends with it', async () => {
    engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
    const id = await started();
    const lines = await linesOf(id);
    expect(lines).toHaveLength(9);
    expect(lines.at(-1)).toMatch(/Z INFO {2}done updated v1\.4\.2 → v1\.5\.0 in 4 s$/);
    expect(await client.inspect(id)).toMatchObject({ status: 'exited', exitCode: 0 });
  });

  it('starts one that fails again, and its log goes on, but whoever follows is told of an end', async () => {
    engine.restartPauseMs = 500;
    // Its pause passes when the test says so; what comes over the socket comes all the same.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    engine.updaterDoes([{ say: 'one' }, { exit: 1 }], [{ say: 'two' }]);
    const id = await started();
    expect(await linesOf(id)).toEqual(['one']);
    expect(await client.inspect(id)).toMatchObject({ status: 'restarting', exitCode: 1, restartCount: 1 });
    // What waits for its next start has no log that goes on.
    expect(await linesOf(id)).toEqual(['one']);
    vi.advanceTimersByTime(500);
    expect(await client.inspect(id)).toMatchObject({ status: 'running', exitCode: 0, restartCount: 1 });
    const lines = linesOf(id);
    await expect.poll(() => engine.requests.filter(({ line }) => line.includes('/logs')).length).toBe(3);
    engine.updater.say('three\nfour');
    engine.updater.vanish();
    expect(await lines).toEqual(['one', 'two', 'three', 'four']);
    expect(await client.inspect(id)).toBeNull();
  });

  it('gives up after as many starts as the policy says', async () => {
    engine.restartPauseMs = 20;
    engine.updaterDoes([{ exit: 1 }], [{ exit: 1 }], [{ exit: 1 }], [{ exit: 1 }]);
    const id = await started();
    const ended = { status: 'exited', exitCode: 1, restartCount: 3 };
    await expect.poll(() => client.inspect(id)).toMatchObject(ended);
  });

  it.each([
    [3, /WARN {2}done cancelled: nothing was changed, v1\.4\.2 runs on\. Next: Run/, 'exited', 143],
    [7, /WARN {2}recreate SIGTERM: too late to cancel, the update goes on to its end/, 'running', 0],
  ])('has an updater that can be cancelled, after %d lines', async (count, last, status, exitCode) => {
    engine.updaterDoes(workOf('v1.4.2', 'v1.5.0').slice(0, count));
    const id = await started();
    await sleep(10);
    engine.updater.kill('SIGTERM');
    expect(engine.updater.log.at(-1)?.text).toMatch(last);
    expect(await client.inspect(id)).toMatchObject({ status, exitCode });
  });

  it('has servers, each of which is told of its own container', async () => {
    const [one, two] = [await engine.addServer(), await engine.addServer({ name: 'svc-app-2' })];
    const name = hostname();
    expect(await new EngineSocket(one.socketPath).inspect(name)).toMatchObject({ name: 'svc-app-1' });
    expect(await new EngineSocket(two.socketPath).inspect(name)).toMatchObject({
      id: two.container.id,
      mounts: [{ source: '/var/run/docker.sock', destination: two.socketPath }],
    });
    expect(await client.inspect(name)).toBeNull();
  });
});

describe('what goes wrong with it', () => {
  const wrong = (asked: Promise<unknown>) =>
    asked.then(
      () => null,
      ({ kind, status, cause }) => [kind, status ?? cause?.code ?? cause?.message],
    );

  it('is met by the request that it was planned for', async () => {
    const match = /^GET .*\/json/;
    const fault = engine.fault({ match, nth: 2, kind: 'refuse', message: 'busy' });
    expect(await client.inspect('x')).toBeNull();
    expect(await refusalOf(client.inspect('x'))).toBe('500 busy');
    expect(await client.inspect('x')).toBeNull();
    expect(fault.hits).toBe(1);
    engine.fault({ match, kind: 'page' });
    expect(await refusalOf(client.inspect('x'))).toMatch(
      /^403 what stands before the engine refuses .*403 Forbidden/,
    );
  });

  it('happens before what was asked, or after it', async () => {
    await client.pull(reference, null, () => {}, never);
    engine.fault({ match: /create/, kind: 'cut', done: false });
    expect(await wrong(client.create(spec))).toEqual(['away', expect.anything()]);
    expect(engine.containers).toHaveLength(0);
    engine.fault({ match: /create/, kind: 'cut', at: 'after the head' });
    expect(await wrong(client.create(spec))).toEqual(['away', expect.anything()]);
    expect(engine.containers).toHaveLength(1);
  });

  it('is a socket that refuses, or is not there', async () => {
    await engine.down();
    expect(await wrong(client.inspect('x'))).toEqual(['away', 'ECONNREFUSED']);
    await engine.up();
    expect(await client.inspect('x')).toBeNull();
    await engine.down({ file: 'goes' });
    expect(await wrong(client.inspect('x'))).toEqual(['away', 'ENOENT']);
    await engine.up();
    expect(await client.inspect('x')).toBeNull();
  });

  it('is one door alone', async () => {
    const [one, two] = [await engine.addServer(), await engine.addServer({ name: 'svc-app-2' })];
    await engine.down({ door: one.door });
    expect(await wrong(new EngineSocket(one.socketPath).inspect('x'))).not.toBeNull();
    expect(await wrong(new EngineSocket(two.socketPath).inspect('x'))).toBeNull();
  });

  it('is a silence that ends', async () => {
    const held = engine.fault({ match: /json/, kind: 'hang', at: 'member 3: before it' });
    const server = await engine.addServer();
    const asked = client.inspect('svc-app-1');
    expect(await Promise.race([asked, sleep(50, 'silent')])).toBe('silent');
    held.release();
    expect(await asked).toMatchObject({ id: server.container.id });
    engine.freeze();
    const again = client.inspect('svc-app-1');
    expect(await Promise.race([again, sleep(50, 'silent')])).toBe('silent');
    engine.thaw();
    expect(await again).toMatchObject({ id: server.container.id });
  });

  it('is a log that is cut between two frames, or within one', async () => {
    engine.updaterDoes([{ say: 'one' }, { say: 'zwölf' }]);
    const id = await started();
    for (const [at, whole] of [
      ['frame 2: before it', ['one']],
      ['frame 2: in a wide character', ['one']],
    ] as const) {
      engine.fault({ match: /logs/, kind: 'cut', at });
      const lines: string[] = [];
      const read = (async () => {
        for await (const line of client.logs(id, never)) lines.push(line);
      })();
      expect(await wrong(read)).toEqual(['away', expect.anything()]);
      expect(lines).toEqual(whole);
    }
    engine.updater.say(lineOf({ phase: 'done', message: 'updated' }));
  });

  it('leaves no connection open', async () => {
    await refusalOf(client.inspect('x'));
    await expect.poll(() => engine.connectionCount).toBe(0);
  });
});
