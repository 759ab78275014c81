import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Cancelled } from '../../../src/core/progress/stops.ts';
import { askApi } from '../../../src/engine/api/api.ts';
import { takeBlueprints } from '../../../src/engine/api/blueprint.ts';
import { engineFacts } from '../../../src/engine/api/query.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { engineTarget } from '../../../src/engine/http/target.ts';
import { tar } from '../../rig/tar.ts';
import { selfSigned } from '../self-signed.ts';
import { listen, startEngine, startPlainEngine } from './http-engine.ts';

let directory: string;
/** A line for each call of the `docker` command, which finds the engine there whenever it is asked. */
const calls = async () =>
  (await readFile(join(directory, 'calls'), 'utf8').catch(() => '')).split('\n').slice(0, -1);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'api-'));
  const docker = `#!/bin/sh\necho "$*" >>${directory}/calls\nsleep 0.1\necho 28.5.2\n`;
  await writeFile(join(directory, 'docker'), docker);
  await chmod(join(directory, 'docker'), 0o755);
  vi.stubEnv('PATH', `${directory}:${process.env.PATH}`);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true, force: true });
});

const engineAt = (host: string, tls: string[] = [], signal?: AbortSignal): Engine =>
  new Engine({ host, tls, configDirectory: directory }, { home: '/', ...(signal && { signal }) });

const get = { method: 'GET', path: '/x?a=1' } as const;

describe('askApi', () => {
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
    expect(
      await askApi(engine, { method: 'POST', path: '/containers/create?name=x', body: { a: 'ä' } }),
    ).toEqual({
      ...{ status: 201, apiVersion: '1.45', body: Buffer.from('made') },
    });
    await askApi(engine, { method: 'PUT', path: '/y', body: Buffer.from('tar') });
    await askApi(engine, get);
    expect(seen).toEqual([
      ['POST', '/containers/create?name=x', 'application/json', '{"a":"ä"}'],
      ['PUT', '/y', 'application/x-tar', 'tar'],
      ['GET', '/x?a=1', undefined, ''],
    ]);
  });

  it('uses a version that the engine supports, and asks again after the engine was replaced', async () => {
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
    expect(await engineFacts(engine)).toEqual({ version: '29.8.1', platform: 'linux/amd64', api });
    // Its answer has the shape that it was asked for, whatever it could speak besides.
    expect((await askApi(engine.quiet(), get)).apiVersion).toBe('1.51');
    said.ApiVersion = '1.41';
    expect((await askApi(engine, { ...get, method: 'POST' })).apiVersion).toBe('1.41');
    await askApi(engine.uncancellable(), get);
    expect(seen).toEqual([
      ...['/version', '/v1.51/x?a=1'],
      ...['/v1.51/x?a=1', '/version', '/v1.41/x?a=1', '/v1.41/x?a=1'],
    ]);
  });

  it('reports an engine without a supported version', async () => {
    const old = await startEngine((_, to) => void to.end('{"ApiVersion":"1.29"}'));
    await expect(engineFacts(engineAt(old))).rejects.toMatchObject({
      code: 'engine-version',
      message: 'the engine is too old: it supports API 1.29, but at least 1.30 is required',
    });
  });

  it('sends requests over TCP with a path prefix', async () => {
    const host = await startEngine(({ url = '' }, to) => void to.end(url.endsWith('/version') ? '{}' : url));
    expect((await askApi(engineAt(`${host}/engine/`), get)).body.toString()).toBe('/engine/x?a=1');
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
    expect((await askApi(engineAt(host, flags(cert)), get)).body.toString()).toBe('welcome');
    await expect(askApi(engineAt(host, flags(await write('other.pem', other.cert))), get)).rejects.toThrow(
      /^the engine does not answer \(GET \/x\): self-signed certificate/,
    );
  });

  it('waits no longer than the deadline', async () => {
    const engine = engineAt(await startPlainEngine(() => {}));
    await expect(askApi(engine, { ...get, deadlineMs: 100 })).rejects.toThrow(
      expect.objectContaining({
        code: 'engine-unavailable',
        message: 'the engine did not answer within 0.1 s (GET /x)',
      }),
    );
  });

  it('reads no more than the limit', async () => {
    const engine = engineAt(await startPlainEngine((_, to) => void to.end('x'.repeat(1001))));
    await expect(askApi(engine, { ...get, limit: 1000 })).rejects.toThrow(
      "the engine's answer is longer than 1000 bytes (GET /x)",
    );
    expect((await askApi(engine, { ...get, limit: 1001 })).body).toHaveLength(1001);
    const endless = engineAt(
      await startPlainEngine((from, to) => {
        const more = () => void to.write('x'.repeat(1000), more);
        more();
        from.on('close', () => to.destroy());
      }),
    );
    expect((await askApi(endless, { ...get, limit: 1000, cut: true })).body).toHaveLength(1000);
  });

  it('ends with the signal', async () => {
    const asked = Promise.withResolvers<void>();
    let requests = 0;
    const host = await startPlainEngine(() => {
      requests++;
      asked.resolve();
    });
    const controller = new AbortController();
    const before = await calls();
    const answer = askApi(engineAt(host, [], controller.signal), get);
    await asked.promise;
    controller.abort();
    await expect(answer).rejects.toBeInstanceOf(Cancelled);
    expect(await calls(), 'nothing more is asked').toEqual(before);
    await expect(askApi(engineAt(host, [], controller.signal), get)).rejects.toBeInstanceOf(Cancelled);
    await sleep(50);
    expect(requests).toBe(1);
  });

  it('waits for an engine that stopped answering, then repeats the request', async () => {
    let asked = 0;
    const host = await startPlainEngine((from, to) => {
      asked++;
      if (asked === 1) from.socket.destroy();
      else if (asked === 2) {
        to.writeHead(200, { 'content-length': 100 }).write('half');
        from.socket.end();
      } else to.end('back');
    });
    const before = (await calls()).length;
    expect((await askApi(engineAt(host), get)).body.toString()).toBe('back');
    const waited = (await calls()).slice(before);
    expect(waited).toHaveLength(2);
    expect(waited[0]).toContain(`--host ${host} version`);
  });

  it.each([
    ['waits for an engine that a proxy does not reach', 503, '<h1>503 Service Unavailable</h1>', 1],
    ['takes an answer of the engine, whatever it is', 503, '{"message":"busy"}', 0],
    ['takes the refusal of a proxy', 403, '<h1>403 Forbidden</h1>', 0],
  ])('%s', async (_, status, body, waits) => {
    let asked = 0;
    const host = await startPlainEngine((_from, to) => {
      asked += 1;
      if (asked === 1) to.writeHead(status).end(body);
      else to.end('back');
    });
    const before = (await calls()).length;
    const answer = await askApi(engineAt(host), get);
    expect([answer.status, answer.body.toString()]).toEqual(waits > 0 ? [200, 'back'] : [status, body]);
    expect((await calls()).length - before).toBe(waits);
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
  ])('%s %j', (host, tls, expected) => {
    expect(engineTarget(host, tls)).toEqual(expected);
  });

  it.each([
    ['ssh://root@host', "the engine's address ssh://***@host has an unsupported scheme"],
    ['npipe:////./pipe/docker', "the engine's address npipe:////./pipe/docker has an unsupported scheme"],
    ['docker:2375', "the engine's address docker:2375 has an unsupported scheme"],
    ['tcp://', "the engine's address tcp:// has an unsupported scheme"],
  ])('%s is refused', (host, message) => {
    expect(() => engineAt(host).target).toThrow(
      expect.objectContaining({ code: 'engine-unavailable', message: expect.stringContaining(message) }),
    );
  });
});

describe('takeBlueprints', () => {
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

  it('includes copied files and reports those that it cannot read', async () => {
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
    const [taken, ...more] = await takeBlueprints(engineAt(host), [id, 'unknown'], new Map([[id, paths]]));
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
    await expect(takeBlueprints(engineAt(host), [id])).rejects.toThrow(
      `the engine failed to describe ${id}: broken disk`,
    );
  });
});
