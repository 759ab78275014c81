import { describe, expect, it } from 'vitest';
import { EngineSocket } from '../../../src/engine/socket.ts';
import { type InstanceOptions, readOptions } from '../../../src/instance/contract/options.ts';
import { findHome, HomeNotFound, readHome } from '../../../src/instance/place/home.ts';
import { details, plainOptions } from './details.ts';

const compose = (labels: Record<string, string>) =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [`com.docker.compose.${key}`, value]));

const labels = {
  project: 'svc',
  service: 'app',
  'project.working_dir': '/opt/svc',
  'project.config_files': '/opt/svc/compose.yaml',
};
const bind = (Source: string, Destination: string) => ({ Type: 'bind', Source, Destination, RW: true });
const socket = bind('/run/docker.sock', '/var/run/docker.sock');

function home(
  changes: { labels?: Record<string, string>; mounts?: object[] },
  options: Partial<InstanceOptions> = {},
) {
  const own = details({
    Image: 'sha256:1234',
    Config: { Image: 'acme/svc:latest', Labels: compose(changes.labels ?? labels) },
    Mounts: changes.mounts ?? [socket],
    State: { StartedAt: '2026-11-21T10:00:01Z' },
  });
  return readHome(own, readOptions({ ...plainOptions, ...options }), '/run/docker.sock');
}

describe('the home of a server, by the labels and mounts of its container', () => {
  it('is all that an updater needs to know', () => {
    expect(home({})).toEqual({
      containerId: expect.any(String),
      project: 'svc',
      directory: '/opt/svc',
      service: 'app',
      socket: '/run/docker.sock',
      directories: ['/opt/svc'],
      credentials: null,
      imageReference: 'acme/svc:latest',
      imageId: 'sha256:1234',
      startedAt: '2026-11-21T10:00:01Z',
    });
  });

  it.each<[string, object[], string]>([
    ['at its own path', [bind('/var/run/docker.sock', '/var/run/docker.sock')], '/var/run/docker.sock'],
    [
      'from another path',
      [bind('/run/user/1000/docker.sock', '/var/run/docker.sock')],
      '/run/user/1000/docker.sock',
    ],
    ['within a directory', [bind('/srv/run', '/var/run')], '/srv/run/docker.sock'],
    ['behind a symbolic link', [bind('/srv/run/docker.sock', '/run/docker.sock')], '/srv/run/docker.sock'],
  ])('has the socket of the host, mounted %s', (_, mounts, path) => {
    expect(home({ mounts }).socket).toBe(path);
  });

  it('has the directories of files that lie elsewhere, none within another', () => {
    const found = home(
      {
        labels: {
          ...labels,
          'project.config_files': '/opt/svc/compose.yaml,/srv/site/compose.site.yaml,/opt/svc/sub/a.yaml,-',
          'project.environment_file': '/etc/svc/prod.env,/srv/site/more/b.env',
        },
      },
      { directories: ['/srv/shared', '/opt/svc/conf.d', '/opt/svc2'] },
    );
    expect(found.directories).toEqual(['/opt/svc', '/srv/site', '/etc/svc', '/srv/shared', '/opt/svc2']);
  });

  it('has the logins where they are mounted from the host', () => {
    const registryCredentials = '/run/secrets/config.json';
    const mounts = [socket, bind('/root/.docker/config.json', registryCredentials)];
    expect(home({ mounts }, { registryCredentials }).credentials).toBe('/root/.docker/config.json');
    expect(home({}, { registryCredentials }).credentials).toBeNull();
  });

  it.each<[string, Parameters<typeof home>[0], string]>([
    ['no labels', { labels: {} }, 'not-compose'],
    ['no working directory', { labels: { project: 'svc', service: 'app' } }, 'not-compose'],
    ['a socket that is not mounted from the host', { mounts: [] }, 'no-engine'],
  ])('is none with %s', (_, changes, code) => {
    expect(() => home(changes)).toThrow(expect.objectContaining({ name: 'Homeless', code, mayPass: false }));
  });
});

describe('a server that is in no container', () => {
  it('is no compose service where there is no engine', async () => {
    const socketPath = '/nonexistent/docker.sock';
    const settings = readOptions({ ...plainOptions, socketPath });
    const found = await findHome(new EngineSocket(socketPath), settings).catch((error) => error);
    expect(found).toBeInstanceOf(HomeNotFound);
    // Where the tests run in a container themselves, the socket is what is missing.
    expect(['not-compose', 'no-engine']).toContain(found.reason.code);
    expect(found.mayPass).toBe(false);
  });
});
