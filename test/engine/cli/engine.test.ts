import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CancelledError } from '../../../src/core/cancellation/cancelled.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { takeContainerSnapshots } from '../../../src/engine/containers/container-snapshot.ts';
import type { EngineRequestOptions } from '../../../src/engine/engine-request-sender.ts';
import { parseEngineConnection } from '../../../src/engine/http/engine-connection.ts';
import { tar } from '../../rig/tar.ts';
import { listen, startEngine, startPlainEngine } from '../http-engine.ts';
import { frame } from '../raw-engine.ts';
import { selfSigned } from '../self-signed.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'api-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const engineAt = (host: string, tls: string[] = [], signal?: AbortSignal): Engine =>
  new Engine({ host, tls, configDirectory: directory }, { home: '/', ...(signal && { signal }) });

/** A request that is not repeated after an error status. */
const get = (engine: Engine, more: EngineRequestOptions = {}) =>
  engine.request('inspectSwarm', { query: { a: '1' }, ...more });

describe('the engine', () => {
  it('sends requests through a socket', async () => {
    const socket = join(directory, `s${randomBytes(4).toString('hex')}`);
    const seen: unknown[] = [];
    const server = createServer(async (from, to) => {
      if (from.url === '/version') return void to.end('{}');
      const body = Buffer.concat(await from.toArray()).toString();
      seen.push([from.method, from.url, from.headers['content-type'], body]);
      to.writeHead(201, { 'Api-Version': '1.45' }).end('made');
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    onTestFinished(() => void server.close());
    const engine = engineAt(`unix://${socket}`);
    expect(await engine.request('createContainer', { query: { name: 'x' }, body: { a: 'ä' } })).toEqual({
      ...{ status: 201, apiVersion: '1.45', body: Buffer.from('made') },
    });
    await engine.putArchive('y', Buffer.from('tar'));
    await get(engine);
    expect(seen).toEqual([
      ['POST', '/containers/create?name=x', 'application/json', '{"a":"ä"}'],
      ['PUT', '/containers/y/archive?path=%2F', 'application/x-tar', 'tar'],
      ['GET', '/swarm?a=1', undefined, ''],
    ]);
  });

  it('sends a reading request once with a cache, and again after a change or a failure', async () => {
    const seen: string[] = [];
    let status = 500;
    const engine = engineAt(
      await startPlainEngine(({ method, url }, to) => {
        seen.push(`${method} ${url}`);
        to.writeHead(status).end(`{"Id":"${seen.length}"}`);
      }),
    );
    const cached = engine.cached();
    const once = (view: Engine) => view.inspectRaw(['a']);
    await expect(cached.request('inspectSwarm')).rejects.toThrow();
    status = 200;
    await cached.request('inspectSwarm');
    expect(seen.splice(0)).toEqual(['GET /swarm', 'GET /swarm']);
    expect(await Promise.all([once(cached), once(cached)])).toEqual([[{ Id: '1' }], [{ Id: '1' }]]);
    expect(await once(engine)).toEqual([{ Id: '2' }]);
    expect(await once(cached.uncancellable())).toEqual([{ Id: '3' }]);
    expect(await once(engine.cached())).toEqual([{ Id: '4' }]);
    expect(await once(cached)).toEqual([{ Id: '1' }]);
    await cached.startContainer('a');
    expect(await once(cached)).toEqual([{ Id: '6' }]);
  });

  it('uses an API version that the engine supports, and requests it again after the engine was replaced', async () => {
    const said = { Version: '29.8.1', Os: 'linux', Arch: 'amd64', ApiVersion: '1.56', MinAPIVersion: '1.40' };
    const seen: string[] = [];
    const host = await startEngine(({ url = '' }, to) => {
      seen.push(url);
      const { ApiVersion } = said;
      const spoken = /^\/v1\.(\d+)\//.exec(url)?.[1] ?? '0';
      to.setHeader('Api-Version', ApiVersion);
      if (Number(spoken) <= Number(ApiVersion.slice(2))) return void to.end(JSON.stringify(said));
      const message = `client version 1.${spoken} is too new. Maximum supported API version is ${ApiVersion}`;
      to.writeHead(400, { 'Content-Type': 'application/json' }).end(JSON.stringify({ message }));
    });
    const engine = engineAt(host);
    const api = { oldest: '1.40', newest: '1.56' };
    expect(await engine.getFacts()).toEqual({ version: '29.8.1', platform: 'linux/amd64', api });
    // The response has the requested API version, even if the engine supports a newer one.
    expect((await get(engine.quiet())).apiVersion).toBe('1.51');
    said.ApiVersion = '1.41';
    expect((await get(engine)).apiVersion).toBe('1.41');
    await get(engine.uncancellable());
    expect(seen).toEqual([
      ...['/version', '/v1.51/swarm?a=1'],
      ...['/v1.51/swarm?a=1', '/version', '/v1.41/swarm?a=1', '/v1.41/swarm?a=1'],
    ]);
  });

  it('reports an engine without a supported version', async () => {
    const old = await startEngine((_, to) => void to.end('{"ApiVersion":"1.29"}'));
    await expect(engineAt(old).getFacts()).rejects.toMatchObject({
      code: 'engine-version',
      message: 'the engine is too old: it supports API 1.29, but at least 1.30 is required',
    });
  });

  it('sends requests over TCP with a path prefix', async () => {
    const host = await startEngine(({ url = '' }, to) => void to.end(url.endsWith('/version') ? '{}' : url));
    expect((await get(engineAt(`${host}/engine/`))).body.toString()).toBe('/engine/swarm?a=1');
  });

  it('uses TLS with a client certificate and rejects another authority', async () => {
    const [own, other] = [selfSigned(), selfSigned()];
    const server = createTlsServer(
      { key: own.key, cert: own.cert, ca: own.cert, requestCert: true, rejectUnauthorized: true },
      ({ url }, to) => void to.end(url === '/version' ? '{}' : 'welcome'),
    );
    const host = `tcp://127.0.0.1:${await listen(server)}`;
    const write = async (name: string, text: string) => {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    };
    const [cert, key] = [await write('cert.pem', own.cert), await write('key.pem', own.key)];
    const flags = (ca: string) => ['--tlsverify', '--tlscacert', ca, '--tlscert', cert, '--tlskey', key];
    expect((await get(engineAt(host, flags(cert)))).body.toString()).toBe('welcome');
    await expect(get(engineAt(host, flags(await write('other.pem', other.cert))))).rejects.toThrow(
      /^the engine does not answer \(GET \/swarm\): self-signed certificate/,
    );
  });

  it('waits no longer than the deadline', async () => {
    const engine = engineAt(await startPlainEngine(() => {}));
    await expect(get(engine, { deadlineMs: 100 })).rejects.toThrow(
      expect.objectContaining({
        code: 'engine-unavailable',
        message: 'the engine did not answer within 0.1 s (GET /swarm)',
      }),
    );
  });

  it('reads no more than the limit', async () => {
    const engine = engineAt(await startPlainEngine((_, to) => void to.end('x'.repeat(1001))));
    await expect(get(engine, { limit: 1000 })).rejects.toThrow(
      "the engine's answer is longer than 1000 bytes (GET /swarm)",
    );
    expect((await get(engine, { limit: 1001 })).body).toHaveLength(1001);
    const endless = engineAt(
      await startPlainEngine((from, to) => {
        const more = () => void to.write('x'.repeat(1000), more);
        more();
        from.on('close', () => to.destroy());
      }),
    );
    expect((await get(endless, { limit: 1000, cut: true })).body).toHaveLength(1000);
  });

  /** Counts version requests after the first one as probes. */
  async function startCounted(answer: RequestListener): Promise<{ host: string; probes(): number }> {
    let versions = 0;
    const host = await startEngine((from, to) => {
      if (from.url !== '/version') return answer(from, to);
      versions += 1;
      to.end('{}');
    });
    return { host, probes: () => versions - 1 };
  }

  it('cancels a request at the signal, and sends none afterwards', async () => {
    const asked = Promise.withResolvers<void>();
    let requests = 0;
    const { host, probes } = await startCounted(() => {
      requests++;
      asked.resolve();
    });
    const controller = new AbortController();
    const answer = get(engineAt(host, [], controller.signal));
    await asked.promise;
    controller.abort();
    await expect(answer).rejects.toBeInstanceOf(CancelledError);
    await expect(get(engineAt(host, [], controller.signal))).rejects.toBeInstanceOf(CancelledError);
    await sleep(50);
    expect([requests, probes()]).toEqual([1, 0]);
  });

  it('waits for an engine that stopped responding, then repeats the request', async () => {
    let asked = 0;
    const { host, probes } = await startCounted((from, to) => {
      asked++;
      if (asked === 2) from.socket.destroy();
      else if (asked === 3) {
        to.writeHead(200, { 'content-length': 100 }).write('half');
        from.socket.end();
      } else to.end('back');
    });
    const engine = engineAt(host);
    await get(engine);
    expect((await get(engine)).body.toString()).toBe('back');
    expect(probes()).toBe(2);
  });

  it.each([
    ['waits for an engine that a proxy does not reach', 503, '<h1>503 Service Unavailable</h1>', null],
    [
      'reports an error of the engine',
      503,
      '{"message":"busy"}',
      'the engine failed to answer (GET /swarm): busy',
    ],
    [
      'reports a proxy that blocks a request',
      403,
      '<h1>403 Forbidden</h1>',
      'a proxy in front of the engine blocks GET /swarm (403 Forbidden)',
    ],
  ])('%s', async (_, status, body, message) => {
    let asked = 0;
    const { host, probes } = await startCounted((_from, to) => {
      asked += 1;
      if (asked === 2) to.writeHead(status).end(body);
      else to.end('back');
    });
    const engine = engineAt(host);
    await get(engine);
    const answer = get(engine);
    if (message === null) expect((await answer).body.toString()).toBe('back');
    else await expect(answer).rejects.toMatchObject({ code: 'engine-unavailable', message });
    expect(probes()).toBe(message === null ? 1 : 0);
  });

  it.each<[what: string, (engine: Engine) => Promise<unknown>]>([
    ['a creation', (engine) => engine.createContainer({ Image: 'x' })],
    ['a start', (engine) => engine.startContainer('x')],
    ['a removal', (engine) => engine.removeContainer('x')],
    ['a new name', (engine) => engine.renameContainer('x', 'y')],
    ['a new tag', (engine) => engine.tagImage('x', 'y:z')],
    ['a question to a registry', (engine) => engine.inspectRemoteImage('x', null)],
  ])('does not repeat %s that the engine has rejected', async (_, send) => {
    let requests = 0;
    const { host } = await startCounted((_from, to) => {
      requests += 1;
      to.writeHead(500).end('{"message":"busy"}');
    });
    await expect(send(engineAt(host))).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(requests).toBe(1);
  });

  it('gives up if the connection is lost three times', async () => {
    let isAway = false;
    let lost = 0;
    const { host } = await startCounted((from, to) => {
      if (!isAway) return void to.end('{}');
      lost += 1;
      from.socket.destroy();
    });
    const engine = engineAt(host);
    await get(engine);
    isAway = true;
    await expect(engine.renameContainer('x', 'y')).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(lost).toBe(3);
  });

  it.each<[seconds: number, call: string, (engine: Engine) => Promise<unknown>]>([
    [30, 'GET /containers/json', (engine) => engine.listContainers({})],
    [30, 'POST /containers/create', (engine) => engine.createContainer({ Image: 'x' })],
    [30, 'DELETE /containers/x', (engine) => engine.removeContainer('x')],
    [900, 'POST /containers/x/start', (engine) => engine.startContainer('x')],
    [15, 'GET /distribution/x/json', (engine) => engine.inspectRemoteImage('x', null)],
    [300, 'DELETE /images/x', (engine) => engine.removeImage('x')],
  ])('waits at most %s s for %s', async (seconds, call, send) => {
    const asked = Promise.withResolvers<void>();
    const host = await startPlainEngine(() => asked.resolve());
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    let error: unknown = null;
    const sent = send(engineAt(host)).catch((cause: unknown) => {
      error = cause;
    });
    await asked.promise;
    await vi.advanceTimersByTimeAsync(seconds * 1000 - 2000);
    expect(error).toBeNull();
    await vi.advanceTimersByTimeAsync(3000);
    expect(error).toMatchObject({ message: `the engine did not answer within ${seconds} s (${call})` });
    await sent;
  });

  it('logs a second outage after a call was cancelled during the first outage', async () => {
    let isAway = false;
    const host = await startEngine((from, to) => {
      if (isAway) from.socket.destroy();
      else to.end('{}');
    });
    const log: string[] = [];
    const address = { host, tls: [], configDirectory: directory };
    const engine = new Engine(address, { home: '/', onAway: (line) => log.push(line) });
    await get(engine);
    const stop = new AbortController();
    isAway = true;
    const cancelled = get(engine.until(stop.signal));
    await expect.poll(() => log.length).toBe(1);
    stop.abort();
    await expect(cancelled).rejects.toBeInstanceOf(CancelledError);
    isAway = false;
    await get(engine);
    isAway = true;
    const waiting = get(engine);
    await expect.poll(() => log.length).toBe(3);
    isAway = false;
    await waiting;
    const [away, back] = [
      'the engine stopped responding; waiting up to 60 s for it',
      'the engine responds again; continuing',
    ];
    expect(log).toEqual([away, back, away, back]);
  });
});

describe('the last lines of a log', () => {
  it('are read again after a short outage', async () => {
    let [logs, failingProbes] = [0, 0];
    const host = await startEngine((from, to) => {
      const isLog = from.url?.includes('/logs') === true;
      if (isLog && ++logs === 1) failingProbes = 1;
      if (isLog ? logs === 1 : failingProbes-- > 0) from.socket.destroy();
      else to.end(isLog ? frame('one\n') : '{}');
    });
    const log: string[] = [];
    const address = { host, tls: [], configDirectory: directory };
    const engine = new Engine(address, { home: '/', onAway: (line) => log.push(line) });
    await get(engine);
    const last = { count: 5, signal: engine.aborted };
    expect(await engine.readLastLines('readLog', 'x', last)).toEqual(['one']);
    expect([logs, log.length]).toEqual([2, 2]);
  });

  it.each([
    ['an error of the engine', { status: 500, body: '{"message":"no such log"}' }, 'no such log'],
    ['an error within the log', { status: 200, body: frame('the log is damaged', 3) }, 'the log is damaged'],
  ])('are not read again after %s', async (_, { status, body }, message) => {
    let logs = 0;
    const host = await startPlainEngine((from, to) => {
      const isLog = from.url?.includes('/logs') === true;
      if (isLog) logs += 1;
      to.writeHead(isLog ? status : 200).end(isLog ? body : '{}');
    });
    const engine = engineAt(host);
    await get(engine);
    const read = engine.readLastLines('readLog', 'x', { count: 5, signal: engine.aborted });
    await expect(read).rejects.toMatchObject({ name: 'EngineError', message });
    expect(logs).toBe(1);
  });
});

describe('engineTarget', () => {
  it.each<[host: string, tls: string[], expected: unknown]>([
    [
      'unix:///var/run/docker.sock',
      [],
      { tls: false, prefix: '', options: { socketPath: '/var/run/docker.sock' } },
    ],
    ['tcp://docker', [], { tls: false, prefix: '', options: { hostname: 'docker', port: 2375 } }],
    ['tcp://[::1]:2400/p', [], { tls: false, prefix: '/p', options: { hostname: '::1', port: '2400' } }],
    [
      'tcp://docker',
      ['--tls'],
      { tls: true, prefix: '', options: { hostname: 'docker', port: 2376, rejectUnauthorized: false } },
    ],
  ])('parses %s with the options %j', (host, tls, expected) => {
    expect(parseEngineConnection(host, tls)).toEqual(expected);
  });

  it.each([
    ['ssh://root@host', 'ssh://***@host'],
    ['npipe:////./pipe/docker', 'npipe:////./pipe/docker'],
    ['docker:2375', 'docker:2375'],
    ['tcp://', 'tcp://'],
  ])('rejects %s', (host, shown) => {
    const message = `the engine's address ${shown} is not a valid unix:// or tcp:// address`;
    expect(() => engineAt(host).target).toThrow(
      expect.objectContaining({ code: 'engine-unavailable', message: expect.stringContaining(message) }),
    );
  });
});

describe('takeSnapshots', () => {
  const id = 'a'.repeat(64);
  const inspection = {
    ...{
      Id: id,
      Name: '/x',
      Image: 'sha256:1',
      Config: { Image: 'svc' },
      HostConfig: {},
      NetworkSettings: {},
    },
    Mounts: [{ Type: 'bind', Destination: '/etc/bound/' }],
  };
  const archives: Record<string, Buffer> = {
    '/plain': tar([{ name: 'plain', kind: 'file', mode: 0o640, content: 'text' }]),
    '/directory': tar([{ name: 'directory', kind: 'directory' }]),
    '/link': tar([{ name: 'link', kind: 'link', target: '/etc/passwd' }]),
    '/big': tar([{ name: 'big', kind: 'file', content: Buffer.alloc(1024 * 1024 + 1) }]),
  };

  it('includes copied files and lists copied files that it cannot read', async () => {
    const asked: string[] = [];
    const host = await startPlainEngine((from, to) => {
      const url = new URL(from.url ?? '', 'http://engine');
      const path = url.searchParams.get('path');
      if (url.pathname === `/containers/${id}/json`) to.end(JSON.stringify(inspection));
      else if (url.pathname !== `/containers/${id}/archive` || path === null) to.writeHead(404).end();
      else {
        asked.push(path);
        to.writeHead(path in archives ? 200 : 404).end(archives[path]);
      }
    });
    const paths = [...Object.keys(archives), '/missing', '/etc/bound'];
    const [taken, ...more] = await takeContainerSnapshots(
      engineAt(host),
      [id, 'unknown'],
      new Map([[id, paths]]),
    );
    expect(more).toEqual([]);
    expect(taken?.copied.map(({ path }) => path)).toEqual(['/plain']);
    expect(taken?.copied).toEqual([
      expect.objectContaining({
        path: '/plain',
        mode: 0o640,
        content: Buffer.from('text').toString('base64'),
      }),
    ]);
    expect(taken?.lost).toEqual(['/directory', '/link', '/big']);
    expect(asked).toEqual([...Object.keys(archives), '/missing']);
  });

  it('reports an error of the engine', async () => {
    const host = await startPlainEngine((_, to) => void to.writeHead(500).end('{"message":"broken disk"}'));
    await expect(takeContainerSnapshots(engineAt(host), [id])).rejects.toThrow(
      `the engine failed to answer (GET /containers/${id}/json): broken disk`,
    );
  });
});
