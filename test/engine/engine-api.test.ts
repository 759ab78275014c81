import { mkdtemp, rename, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EngineApi } from '../../src/engine/engine-api.ts';
import {
  canCreateWithAllNetworks,
  isVersionAtLeast,
  negotiateApiVersion,
} from '../../src/engine/http/api-version.ts';
import type { EngineErrorCode } from '../../src/engine/http/engine-error.ts';
import { temporaryDirectory } from '../rig/temporary-directory.ts';
import { startEngine } from './http-engine.ts';
import { frame } from './raw-engine.ts';

// Behaviour that a real engine does not show on demand; test/e2e/server*.test.ts tests a real engine.

async function socketThat(answers: RequestListener): Promise<EngineApi> {
  const directory = await mkdtemp(join(tmpdir(), 'engine-socket-'));
  const path = join(directory, 'engine.sock');
  const server = createServer((asked, answer) => {
    if (asked.url === '/version') answer.end('{"ApiVersion":"1.41","MinAPIVersion":"1.12"}');
    else answers(asked, answer);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await rm(directory, { recursive: true, force: true });
  });
  return new EngineApi(path);
}

const never = new AbortController().signal;
const wanted = { tag: 'v1', onProgress: () => {}, signal: never };

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const read: string[] = [];
  for await (const line of lines) read.push(line);
  return read;
}

describe('the engine socket', () => {
  it('causes an error if the file is missing or no process listens on it', async () => {
    const directory = await temporaryDirectory();
    const [before, stale] = [join(directory, 'before.sock'), join(directory, 'engine.sock')];
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(before, resolve));
    await rename(before, stale);
    await new Promise((resolve) => server.close(resolve));
    const fault = {
      name: 'EngineError',
      code: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    };
    const absent = { ...fault, status: null, message: expect.stringContaining('ENOENT') };
    await expect(new EngineApi('/nonexistent/engine.sock').inspectContainer('x')).rejects.toMatchObject(
      absent,
    );
    const engine = new EngineApi(stale);
    await expect(engine.inspectContainer('svc-updater')).rejects.toMatchObject(fault);
    await expect(all(engine.followLog('x', never))).rejects.toMatchObject(fault);
  });

  it('is used instead of the address in the environment', async () => {
    const elsewhere = 'tcp://192.0.2.1:1';
    const environment = { DOCKER_HOST: elsewhere, DOCKER_API_VERSION: '1.24', HTTP_PROXY: elsewhere };
    for (const [key, value] of Object.entries(environment)) vi.stubEnv(key, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const asked: string[] = [];
    const engine = await socketThat(({ url = '' }, answer) => {
      asked.push(url);
      answer.writeHead(404).end('{"message":"no such container"}');
    });
    expect(await engine.inspectContainer('svc-updater')).toBeNull();
    expect(asked).toEqual(['/v1.41/containers/svc-updater/json']);
  });

  it.each(['', '../info', 'a/b', 'a?b', 'a b', '.'])(
    'receives no request for a container with the invalid name %j',
    async (name) => {
      const asked: string[] = [];
      const engine = await socketThat(({ url = '' }, answer) => {
        asked.push(url);
        answer.writeHead(200).end('{}');
      });
      expect(await engine.inspectContainer(name)).toBeNull();
      expect(asked).toEqual([]);
    },
  );

  it.each<[string, (engine: EngineApi) => Promise<unknown>, status: number, gives: unknown]>([
    ['a container that is not there', (e) => e.inspectContainer('x'), 404, null],
    ['an image that is not there', (e) => e.inspectImage('x'), 404, null],
    ['a start of what runs', (e) => e.startContainer('x'), 304, undefined],
    ['a signal to what has ended', (e) => e.killContainer('x', 'SIGTERM'), 409, false],
    ['a signal to none', (e) => e.killContainer('x', 'SIGTERM'), 404, false],
    ['the removal of none', (e) => e.removeContainer('x'), 404, undefined],
  ])('causes no error for %s', async (_, ask, status, gives) => {
    const engine = await socketThat(
      (_, answer) => void answer.writeHead(status).end('{"message":"so it is"}'),
    );
    expect(await ask(engine)).toEqual(gives);
  });

  it.each<[string, (engine: EngineApi) => Promise<unknown>, status: number, code: EngineErrorCode]>([
    ['a name that is taken', (e) => e.createContainer({ name: 'x', Image: 'y' }), 409, 'conflict'],
    ['the removal of what runs', (e) => e.removeContainer('x'), 409, 'conflict'],
    ['a start of none', (e) => e.startContainer('x'), 404, 'not-found'],
    ['a new name for none', (e) => e.renameContainer('x', 'y'), 404, 'not-found'],
    ['a new tag of none', (e) => e.tagImage('x', 'acme/svc:v1'), 404, 'not-found'],
    ['a restart policy for none', (e) => e.setRestartPolicy('x', 'no'), 404, 'not-found'],
    ['a network of none', (e) => e.connectNetwork('x', 'y', {}), 404, 'not-found'],
    ['a file for none', (e) => e.putArchive('x', Buffer.from('tar')), 404, 'not-found'],
    ['a tag that is not there', (e) => e.inspectRemoteImage('x', null), 404, 'not-found'],
    ['the log of none', (e) => all(e.followLog('x', never)), 404, 'not-found'],
    ['a full disk', (e) => e.inspectContainer('x'), 500, 'refused'],
  ])('causes an error with the message of the engine for %s', async (_, ask, status, code) => {
    const engine = await socketThat(
      (_, answer) => void answer.writeHead(status).end('{"message":"so it is"}'),
    );
    await expect(ask(engine)).rejects.toMatchObject({ code, status, message: 'so it is' });
  });

  it('causes an error if the response takes too long', async () => {
    const place = await startEngine((_, answer) => {
      const timer = setInterval(() => answer.write(' '), 10);
      answer.once('close', () => clearInterval(timer));
    });
    const inspected = new EngineApi(place, { timeouts: { query: 150 } }).inspectContainer('x');
    await expect(inspected).rejects.toMatchObject({ code: 'late' });
  });

  it('returns a complete log, including characters split between chunks', async () => {
    const bytes = Buffer.from('grün\nrot');
    const engine = await socketThat((_, answer) => {
      answer.write(frame(''));
      for (const byte of bytes) {
        const head = Buffer.alloc(8);
        head.writeUInt8(2, 0);
        head.writeUInt32BE(1, 4);
        answer.write(Buffer.concat([head, Buffer.from([byte])]));
      }
      answer.end();
    });
    expect(await all(engine.followLog('x', never))).toEqual(['grün', 'rot']);
  });

  it('returns the last lines that the engine sent before an error in the log', async () => {
    const frames = [
      frame('one\n'),
      frame('two\nthree\n', 2),
      frame('the log is damaged', 3),
      frame('four\n'),
    ];
    const engine = await socketThat((_, answer) => answer.end(Buffer.concat(frames)));
    const last = engine.readLastLines('readLog', 'x', { count: 2, signal: never });
    expect(await last).toEqual(['three', 'four']);
    const broken = await socketThat((_, answer) => answer.end(frame('the log is damaged', 3)));
    const none = broken.readLastLines('readLog', 'x', { count: 2, signal: never });
    await expect(none).rejects.toMatchObject({ name: 'EngineError', message: 'the log is damaged' });
  });

  it('returns no more lines of a log after the signal', async () => {
    const engine = await socketThat((_, answer) => {
      answer.write(frame('one\n'));
    });
    const controller = new AbortController();
    const lines: string[] = [];
    for await (const line of engine.followLog('x', controller.signal)) {
      lines.push(line);
      setTimeout(() => controller.abort(), 50);
    }
    expect(lines).toEqual(['one']);
  });

  it.each(['{"error":"no space left on device"}', '{"errorDetail":{"message":"no space left on device"}}'])(
    'causes an error if the stream of a pull contains an error: %s',
    async (error) => {
      const lines = ['{"status":"Pulling fs layer","id":"a"}', error];
      const engine = await socketThat((_, answer) => answer.end(lines.join('\r\n')));
      const pull = engine.pullImage({ repository: 'acme/svc', ...wanted, credentials: null });
      await expect(pull).rejects.toMatchObject({ message: 'no space left on device' });
    },
  );

  it('receives registry credentials as base64url with padding', async () => {
    const seen: unknown[] = [];
    const engine = await socketThat(({ method, url, headers }, answer) => {
      seen.push([method, url, headers['x-registry-auth']]);
      answer.end('{"Descriptor":{"digest":"sha256:1"},"status":"Status: Image is up to date for it"}');
    });
    const login = { username: 'ü>?', password: '~~~??', serveraddress: 'registry:5000' };
    expect(await engine.inspectRemoteImage('registry:5000/acme/svc:v1', login)).toMatchObject({
      digest: 'sha256:1',
    });
    await engine.pullImage({ repository: 'registry:5000/acme/svc', ...wanted, credentials: login });
    await engine.pullImage({ repository: 'acme/svc', ...wanted, credentials: null });
    // The same header as from Docker's client; without base64url, `login` would result in a + or a /.
    const header =
      'eyJ1c2VybmFtZSI6IsO8Pj8iLCJwYXNzd29yZCI6In5-fj8_Iiwic2VydmVyYWRkcmVzcyI6InJlZ2lzdHJ5OjUwMDAifQ==';
    expect(seen).toEqual([
      ['GET', '/v1.41/distribution/registry%3A5000/acme/svc%3Av1/json', header],
      ['POST', '/v1.41/images/create?fromImage=registry%3A5000%2Facme%2Fsvc&tag=v1', header],
      ['POST', '/v1.41/images/create?fromImage=acme%2Fsvc&tag=v1', undefined],
    ]);
  });

  it.each([
    ['', []],
    ['one\r\ntwo ü\r\nthr', ['one', 'two ü', 'thr']],
  ])('returns the log of a container with a terminal: %j', async (text, lines) => {
    const engine = await socketThat((_, answer) => {
      answer.writeHead(200, { 'content-type': 'application/vnd.docker.raw-stream' });
      for (const byte of Buffer.from(text)) answer.write(Buffer.from([byte]));
      answer.end();
    });
    expect(await all(engine.followLog('x', never))).toEqual(lines);
  });

  it.each(['not an address', 'http://engine', 'tcp://', 'ssh://root@host'])(
    'is not opened for the invalid address %j',
    (place) => {
      expect(() => new EngineApi(place)).toThrow(TypeError);
    },
  );
});

describe('an engine address', () => {
  const refuses: RequestListener = (_, answer) => void answer.writeHead(404).end('{"message":"none"}');

  it('can be a TCP address or a socket', async () => {
    expect(await new EngineApi(await startEngine(refuses)).inspectContainer('x')).toBeNull();
    const { path } = await socketThat(refuses);
    const engine = new EngineApi(`unix://${path}`);
    expect(engine.path).toBe(path);
    expect(await engine.inspectContainer('x')).toBeNull();
  });
});

describe('the version of the API', () => {
  it.each<[unknown, unknown, string | null]>([
    ['1.45', '1.24', '1.45'],
    ['1.41', '1.12', '1.41'],
    // Engine 29.0 to 29.2, and 29.8.
    ['1.52', '1.44', '1.51'],
    ['1.56', '1.40', '1.51'],
    ['1.60', '1.53', '1.53'],
    ['1.30', undefined, '1.30'],
    [undefined, undefined, null],
    ['2.0', '1.24', null],
    ['1.45/../x', '1.24', null],
    [145, null, null],
  ])(
    'for an engine that supports %j and requires at least %j is %j',
    (ApiVersion, MinAPIVersion, expected) => {
      expect(negotiateApiVersion({ ApiVersion, MinAPIVersion })).toBe(expected);
    },
  );

  it('must be at least 1.30', () => {
    expect(() => negotiateApiVersion({ ApiVersion: '1.29' })).toThrow(
      'the engine is too old: it supports API 1.29, but at least 1.30 is required',
    );
  });

  async function asked(versions: (string | null)[], questions: number): Promise<string[]> {
    const urls: string[] = [];
    const host = await startEngine(({ url = '', socket }, answer) => {
      urls.push(url);
      if (url !== '/version') {
        // The engine stops responding during the first request.
        if (urls.length === 2) socket.destroy();
        else answer.writeHead(404).end('{}');
        return;
      }
      const version = versions.shift();
      if (version === null) answer.writeHead(403).end('forbidden');
      else answer.end(JSON.stringify({ ApiVersion: version }));
    });
    const engine = new EngineApi(host);
    for (let count = 0; count < questions; count++) await engine.inspectContainer('x').catch(() => null);
    return urls;
  }

  it('is requested once, and again after the engine stopped responding', async () => {
    expect(await asked(['1.45', '1.43'], 4)).toEqual([
      ...['/version', '/v1.45/containers/x/json'],
      ...['/version', '/v1.43/containers/x/json', '/v1.43/containers/x/json', '/v1.43/containers/x/json'],
    ]);
  });

  it('is requested again if a different engine responds, and causes an error if none is supported', async () => {
    const urls: string[] = [];
    const versions = ['1.56', '1.41', '1.41', '1.41'];
    let newest = 41;
    const host = await startEngine(({ method, url = '' }, answer) => {
      urls.push(`${method} ${url}`);
      if (url === '/version') return void answer.end(JSON.stringify({ ApiVersion: versions.shift() }));
      const spoken = Number(/^\/v1\.(\d+)\//.exec(url)?.[1]);
      if (spoken <= newest) return void answer.writeHead(204).end();
      const message = `client version 1.${spoken} is too new. Maximum supported API version is 1.${newest}`;
      answer.writeHead(400).end(JSON.stringify({ message }));
    });
    const engine = new EngineApi(host);
    await engine.startContainer('x');
    expect(urls).toEqual([
      ...['GET /version', 'POST /v1.51/containers/x/start'],
      ...['GET /version', 'POST /v1.41/containers/x/start'],
    ]);
    newest = 40;
    await expect(engine.startContainer('x')).rejects.toMatchObject({
      code: 'refused',
      message: 'client version 1.41 is too new. Maximum supported API version is 1.40',
    });
  });

  it('is omitted from requests if a proxy blocks the version request', async () => {
    expect(await asked([null, null], 3)).toEqual([
      ...['/version', '/containers/x/json'],
      ...['/version', '/containers/x/json', '/containers/x/json'],
    ]);
  });
});

it.each([
  ['', false],
  ['1.9', false],
  ['1.43', false],
  ['1.44', true],
  ['1.100', true],
  ['2.0', true],
])('API version %j accepts all networks in one request: %s', (version, expected) => {
  expect(canCreateWithAllNetworks(version)).toBe(expected);
});

it.each([
  ['2.40.3-3', false],
  ['5.2.9', false],
  ['v5.3.0', true],
  ['5.10.0+ds1-0ubuntu1', true],
  ['unknown', false],
])('compose version %s is at least 5.3: %s', (version, expected) =>
  expect(isVersionAtLeast(version, '5.3')).toBe(expected),
);
