import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { startBadEngine } from '../rig/bad-engine.ts';
import { dockerConfig, registryFaults, startBadRegistry } from '../rig/bad-registry.ts';
import { alone, createInstance } from './support/instance.ts';

// The stand-ins that the other e2e tests put between the updater and the real engine and registry.

describe('the bad registry', () => {
  const open = async (credentials?: { user: string; password: string }) => {
    const registry = await startBadRegistry(inject('host').registry, credentials);
    onTestFinished(() => registry.close());
    return registry;
  };
  const pull = (instance: { compose(...args: string[]): Promise<string> }) =>
    instance.compose('pull', '--policy', 'always', 'app').then(
      () => 'pulled',
      (error: { all?: string }) => error.all ?? '',
    );

  test('serves well until it is told to fail, and fails as told', async () => {
    const registry = await open();
    const instance = await createInstance({ ...alone, registry: registry.host });
    const env = await instance.read('.env');
    await instance.write('.env', env.replace('v1.0.0', 'v1.1.0'));

    registry.fail(registryFaults.denied);
    expect(await pull(instance)).toMatch(/no basic auth credentials|unauthorized/i);
    registry.fail(registryFaults.unknown, { on: 'manifests' });
    expect(await pull(instance)).toMatch(/manifest.*unknown|not found/i);
    registry.fail(registryFaults.busy);
    expect(await pull(instance)).toMatch(/toomanyrequests|429/i);
    registry.fail(registryFaults.error, { on: 'manifests' });
    expect(await pull(instance)).toMatch(/500|unknown/i);
    registry.fail(registryFaults.close);
    expect(await pull(instance)).toMatch(/EOF|reset/);
    await registry.down();
    expect(await pull(instance)).toContain('connection refused');
    await registry.up();

    // One is not enough: when HEAD fails, the engine tries GET.
    registry.fail(registryFaults.error, { on: 'manifests', times: 2 });
    expect(await pull(instance)).not.toBe('pulled');
    expect(await pull(instance)).toBe('pulled');
    expect(registry.requests).toContain(`HEAD /v2/${instance.name}/svc/manifests/v1.1.0`);
  });

  test('is slow, breaks off or spoils a layer', async () => {
    const registry = await open();
    const instance = await createInstance({ ...alone, registry: registry.host });
    await instance.publish('v1.2.0', { ballast: 400_000 });
    const settings = await instance.read('.env');
    const move = (version: string) => instance.write('.env', settings.replace('v1.0.0', version));

    // Of another release: the containerd store goes on with the bytes that it has.
    await move('v1.1.0');
    registry.fail(registryFaults.corrupt, { on: 'blobs' });
    expect(await pull(instance)).toMatch(/verification failed|checksum|unexpected/i);

    await move('v1.2.0');
    registry.fail(registryFaults.stall, { on: 'blobs' });
    const patient = pull(instance);
    expect(await Promise.race([patient, new Promise((resolve) => setTimeout(resolve, 1500, 'waits'))])).toBe(
      'waits',
    );
    // Cutting the connections ends the stall; the engine then tries again by itself.
    await registry.down();
    registry.fail({ kind: 'slow', bytesPerSecond: 200_000 }, { on: 'blobs' });
    await registry.up();
    const started = performance.now();
    const outcome = await patient;
    if (outcome !== 'pulled') expect(await pull(instance)).toBe('pulled');
    expect(performance.now() - started).toBeGreaterThan(1500);
  });

  test('serves those who have the password', async () => {
    const credentials = { user: 'svc', password: 'hunter2-hunter2' };
    const registry = await open(credentials);
    const config = join(inject('host').directory, `config-${Date.now()}`);
    await mkdir(config);
    await writeFile(join(config, 'config.json'), dockerConfig(registry.host, credentials));
    const instance = await createInstance({
      ...alone,
      registry: registry.host,
      shell: { DOCKER_CONFIG: config },
    });
    expect(await pull(instance)).toBe('pulled');
    await writeFile(
      join(config, 'config.json'),
      dockerConfig(registry.host, { ...credentials, password: 'wrong' }),
    );
    expect(await pull(instance)).toMatch(/no basic auth credentials|unauthorized/i);
  });

  test('an image for another machine only', async () => {
    const instance = await createInstance({ ...alone, publish: [] });
    await instance.publish('v1.1.0', { platforms: ['linux/riscv64'] });
    await instance.write('.env', (await instance.read('.env')).replace('v1.0.0', 'v1.1.0'));
    expect(await pull(instance)).toContain('no matching manifest for linux/');
  });
});

describe('the bad engine', () => {
  const docker = (socket: string, ...args: string[]) =>
    execa('docker', ['-H', `unix://${socket}`, ...args], {
      all: true,
      reject: false,
      stdin: 'ignore',
      timeout: 20_000,
    });
  const open = async (claims = {}) => {
    const socket = join(inject('host').directory, `engine-${Math.random().toString(36).slice(2, 8)}.sock`);
    const engine = await startBadEngine(socket, claims);
    onTestFinished(() => engine.close());
    return engine;
  };

  test('passes on whole commands, streams included', async () => {
    const engine = await open();
    const instance = await createInstance(alone);
    const app = `${instance.name}-app-1`;
    const hello = await docker(engine.socket, 'exec', app, '/bin/cat', '/etc/svc-version');
    expect(hello).toMatchObject({ exitCode: 0, all: 'v1.0.0' });
    const run = await docker(
      engine.socket,
      'run',
      '--rm',
      '--entrypoint',
      '/bin/ls',
      `${instance.image}:v1.0.0`,
      '/usr/share/svc/release',
    );
    expect(run).toMatchObject({ exitCode: 0, all: 'compose.cluster.yaml\ncompose.yaml' });
    const up = await execa(
      'docker',
      [
        '-H',
        `unix://${engine.socket}`,
        'compose',
        '-f',
        'compose.prod.yaml',
        'up',
        '-d',
        '--force-recreate',
        '--no-deps',
        'app',
      ],
      { cwd: instance.directory, all: true, reject: false, stdin: 'ignore' },
    );
    expect(up.exitCode, up.all).toBe(0);
    expect(engine.requests.some((line) => /^POST .*\/start/.test(line))).toBe(true);
  });

  test('hangs where it is told to, and goes away', async () => {
    const engine = await open();
    expect((await docker(engine.socket, 'ps')).exitCode).toBe(0);
    engine.hang(/containers\/json/);
    expect(
      (await execa('docker', ['-H', `unix://${engine.socket}`, 'ps'], { reject: false, timeout: 1500 }))
        .timedOut,
    ).toBe(true);
    expect((await docker(engine.socket, 'version')).exitCode).toBe(0);
    engine.hang(null);
    engine.down();
    expect((await docker(engine.socket, 'ps')).exitCode).not.toBe(0);
    engine.up();
    expect((await docker(engine.socket, 'ps')).exitCode).toBe(0);
  });

  test('fails what it is told to, and breaks connections off', async () => {
    const engine = await open();
    engine.fail((asked) => asked.includes('/containers/json'));
    expect((await docker(engine.socket, 'ps')).all).toContain('something went wrong');
    expect((await docker(engine.socket, 'version')).exitCode).toBe(0);
    engine.fail(null);
    engine.breakOff(/\/events/, 1);
    expect((await docker(engine.socket, 'events')).all).toMatch(/EOF/);
    expect((await docker(engine.socket, 'events', '--until', '0s')).exitCode).toBe(0);
  });

  test('says it is older or newer than it is', async () => {
    const old = await open({ apiVersion: '1.12', version: '1.0.0' });
    expect((await docker(old.socket, 'ps')).all).toMatch(/too new|too old/);
    const young = await open({ apiVersion: '1.99', minApiVersion: '1.90', version: '99.0.0' });
    expect((await docker(young.socket, 'ps')).all).toContain(
      'too old. Minimum supported API version is 1.90',
    );
    expect((await docker(young.socket, 'version', '--format', '{{.Server.Version}}')).all).toMatch(
      /99\.0\.0|too old/,
    );
  });
});
