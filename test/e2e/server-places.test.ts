import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Status } from '../../src/wire/status.ts';
import { engineSocket, listContainers } from '../rig/engine-api.ts';
import { type LayoutContext, layouts } from '../rig/layout.ts';
import { serverCompose } from '../rig/server/compose.ts';
import { startServerInstance, updatePath } from '../rig/server/server-instance.ts';
import { follow, inspect, type ServerInstance, waitForEnd, waitForStatus } from './support/server.ts';

let instance: ServerInstance;

beforeAll(async () => {
  instance = await startServerInstance(inject('host'), {
    layout,
    up: ['--no-deps', 'app', 'jobs', 'tunnel'],
    settings: { ENGINE: `unix:///engine/${basename(engineSocket)}`, APP_SERVICE: 'app' },
    compose: {
      volumes: ['engine:/engine'],
      extra: {
        app: 'network_mode: service:tunnel\nlabels: { svc.role: worker }',
        tunnel: `ports: ['127.0.0.1:\${SVC_PORT:?}:8080']`,
      },
      environment: { ...serverCompose.environment, APP_SERVICE: `\${APP_SERVICE:?}` },
    },
    publish: ['v1.1.0', 'v1.2.0'],
  });
});
afterAll(() => instance?.dispose());

/** The server is a worker called jobs, in the network of the tunnel, with the engine's socket in a volume. */
function layout(context: LayoutContext) {
  const { files, flags } = layouts.variable(context);
  const device = dirname(engineSocket);
  const text = files['compose.prod.yaml']
    .replace('\n  app:\n', '\n  jobs:\n')
    .replace('\n  worker:\n', '\n  app:\n')
    .replace(/ {4}ports: .*\n/, '')
    .replace(/ {4}networks: .*\n/, '')
    .replace(
      '\nvolumes:\n',
      `\nvolumes:\n  engine: { driver_opts: { type: none, o: bind, device: ${device} } }\n`,
    );
  return { files: { ...files, 'compose.prod.yaml': text }, flags };
}

/** What a server of the same image says that somebody has started in another way. */
async function startElsewhere(name: string, labels: Record<string, string>, flags: string[] = []) {
  const { UPDATER_IMAGE = '' } = Object.fromEntries(
    (await instance.read('.env')).split('\n').map((line) => line.split(/=(.*)/s)),
  );
  const container = `${instance.name}-${name}`;
  const all = [
    ...['--name', container, '-v', `${engineSocket}:/var/run/docker.sock`, '-v', '/data'],
    ...['-e', `UPDATER_IMAGE=${UPDATER_IMAGE}`, '-e', `UPDATER_NAME=${container}-updater`],
    ...Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]),
  ];
  await execa('docker', ['run', '-d', ...all, ...flags, `${instance.image}:v1.0.0`, 'app']);
  const address: string = (await inspect(container)).NetworkSettings.Networks.bridge.IPAddress;
  return async (query = ''): Promise<Status> => {
    const headers = { authorization: 'Bearer admin-token' };
    for (let tries = 0; ; tries++) {
      const answer = await fetch(`http://${address}:8080${updatePath}${query}`, { headers }).catch(
        () => null,
      );
      if (answer?.ok) return (await answer.json()) as Status;
      if (tries > 1_000) throw new Error(`no status: ${answer?.status}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
}

const compose = (labels: Record<string, string>) =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [`com.docker.compose.${key}`, value]));

describe('a server in a place of its own', () => {
  it('that is a worker in another network, with the socket in a volume, is updated with its app', async () => {
    await instance.offer('v1.1.0');
    expect(await instance.status({ refresh: true })).toMatchObject({ canUpdate: true, reason: null });
    expect((await instance.startUpdateOverHttp()).status).toBe(202);
    expect((await follow(instance)).runs.at(-1)).toMatchObject({ state: 'updated', to: 'v1.1.0' });
    await waitForEnd(instance);
    await waitForStatus(instance, ({ reason }) => reason?.code === 'up-to-date');
    expect(await images()).toEqual(['app v1.1.0', 'jobs v1.1.0', 'tunnel 1']);

    // An updater by hand, in that network as well, goes by the same label.
    const docker = ['--network', `container:${instance.project}-tunnel-1`];
    const { log, exitCode } = await instance.update(['--target', 'v1.2.0'], { docker });
    expect(log).toContain('app and jobs run v1.1.0');
    expect(exitCode).toBe(0);
    expect(await images()).toEqual(['app v1.2.0', 'jobs v1.2.0', 'tunnel 1']);
    expect(await instance.version()).toBe('v1.2.0');
  });

  it('is told where the machine has no such directory, and where it has it by then', async () => {
    const directory = join(instance.directory, 'data', 'compose', '7');
    const project = `${instance.name}-stack`;
    const left = ['create', '--name', `${project}-left`, '--label', `svc-updater.probe=${project}`];
    await execa('docker', [...left, `${instance.image}:v1.0.0`, 'app']);
    const labels = {
      project,
      service: 'app',
      'project.working_dir': directory,
      'project.config_files': `${directory}/docker-compose.yml`,
    };
    const ask = await startElsewhere('portainer', compose(labels));
    expect((await ask()).reason).toEqual({
      code: 'no-directory',
      message: expect.stringContaining(`the engine's machine has no ${directory}: `),
    });
    await mkdir(directory, { recursive: true });
    // It is known, and looked at again when somebody asks for it.
    expect((await ask()).reason).toMatchObject({ code: 'no-directory' });
    expect((await ask('?refresh=1')).reason).toMatchObject({ code: 'up-to-date' });
    expect(await listContainers({ label: [`svc-updater.probe=${project}`] })).toEqual([]);
  });

  it('is told as a task of Swarm', async () => {
    const swarm = { 'com.docker.swarm.service.name': `${instance.name}_app` };
    const ask = await startElsewhere('swarm', swarm);
    expect((await ask()).reason).toEqual({
      code: 'swarm',
      message: expect.stringContaining(`a task of the Swarm service ${instance.name}_app`),
    });
  });

  it('is told where the updater would get a socket that is not there', async () => {
    const socket = '/nowhere/docker.sock';
    const labels = {
      project: `${instance.name}-x`,
      service: 'app',
      'project.working_dir': instance.directory,
    };
    const ask = await startElsewhere('socket', compose(labels), ['-e', `UPDATER_SOCKET=${socket}`]);
    expect((await ask()).reason).toEqual({
      code: 'no-engine',
      message: `the engine's machine has no socket at ${socket}, which the updater would be given`,
    });
  });
});

/** What the containers of the instance run: `app v1.1.0`. */
async function images(): Promise<string[]> {
  const services = ['app', 'jobs', 'tunnel'];
  const found = await Promise.all(services.map((name) => inspect(`${instance.project}-${name}-1`)));
  return found.map(({ Config }, at) => `${services[at]} ${Config.Image.split(':').at(-1)}`);
}
