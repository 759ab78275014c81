import { describe, expect, it } from 'vitest';
import { createResponseError, EngineError } from '../../../src/engine/http/engine-error.ts';
import type { InstanceOptions } from '../../../src/server/contract/instance-options.ts';
import { validateInstanceOptions } from '../../../src/server/contract/validate-options.ts';
import { createEngineUnreachableError } from '../../../src/server/deployment/deployment-not-found-error.ts';
import { locateDeployment } from '../../../src/server/deployment/locate-deployment.ts';
import { readDeployment } from '../../../src/server/deployment/read-deployment.ts';
import { details, plainOptions } from './container-details.ts';
import { startAsked } from './engine.ts';

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
  });
  return readDeployment(own, validateInstanceOptions({ ...plainOptions, ...options }), '/run/docker.sock');
}

describe('readDeployment', () => {
  it('reads everything that the updater needs from labels and mounts', () => {
    expect(home({})).toEqual({
      container: expect.objectContaining({ imageReference: 'acme/svc:latest', imageId: 'sha256:1234' }),
      project: 'svc',
      directory: '/opt/svc',
      claim: expect.stringMatching(/^\/opt\/svc\n/),
      service: 'app',
      socket: '/run/docker.sock',
      directories: ['/opt/svc'],
      credentials: null,
      mounted: ['/var/run/docker.sock'],
    });
  });

  it('finds the socket on the host behind a symbolic link', () => {
    const mounts = [bind('/srv/run/docker.sock', '/run/docker.sock')];
    expect(home({ mounts }).socket).toBe('/srv/run/docker.sock');
  });

  it('uses the option updaterSocket, and requires it with a proxy', () => {
    const engine = 'tcp://socket-proxy:2375';
    const updaterSocket = '/run/user/1000/docker.sock';
    expect(home({ mounts: [] }, { engine, updaterSocket }).socket).toBe(updaterSocket);
    expect(home({}, { updaterSocket }).socket).toBe(updaterSocket);
    expect(() => home({}, { engine })).toThrow(
      expect.objectContaining({
        code: 'no-engine',
        message: expect.stringMatching(
          /^the option updaterSocket is not set: because this server reaches the engine at tcp:/,
        ),
        known: expect.objectContaining({ project: 'svc', directories: ['/opt/svc'] }),
      }),
    );
  });

  it('includes the directories of other files, without nested ones', () => {
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

  it.each<[string, Parameters<typeof home>[0], string]>([
    ['no labels', { labels: {} }, 'not-compose'],
    ['a socket that is not mounted from the host', { mounts: [] }, 'no-engine'],
  ])('throws with %s', (_, changes, code) => {
    expect(() => home(changes)).toThrow(
      expect.objectContaining({ name: 'DeploymentNotFoundError', code, mayPass: false }),
    );
  });
});

it('rejects Podman', async () => {
  // The response of Podman 4.3.1.
  const Components = [{ Name: 'Podman Engine', Version: '4.3.1' }, { Name: 'Conmon' }];
  const { engine } = await startAsked(() => ({ body: { ApiVersion: '1.41', Components } }));
  await expect(locateDeployment(engine, validateInstanceOptions(plainOptions))).rejects.toMatchObject({
    reason: { code: 'no-engine', message: expect.stringMatching(/^the engine at \S+ is Podman, /) },
  });
});

describe('the error for an unreachable engine', () => {
  const page = (status: number, text: string) =>
    createResponseError('GET /containers/json', { status, body: Buffer.from(text) });
  const denied = Object.assign(new Error('connect EACCES'), { code: 'EACCES' });
  it.each<[string, unknown, string, boolean]>([
    [
      'nobody',
      new EngineError('unreachable', 'connect ECONNREFUSED'),
      'no engine responds at tcp://x:1',
      true,
    ],
    [
      'who may not',
      new EngineError('unreachable', 'connect EACCES', { cause: denied }),
      'the server does not have permission to use the engine socket tcp://x:1',
      false,
    ],
    [
      'a proxy that refuses',
      page(403, '<html><body><h1>403 Forbidden</h1>\nRequest forbidden.\n</body></html>'),
      'the proxy at tcp://x:1 rejects a request to the engine: a proxy in front of the engine blocks GET /containers/json (403 Forbidden)',
      false,
    ],
    [
      'a proxy without its engine',
      page(503, '<html><body><h1>503 Service Unavailable</h1></body></html>'),
      'no usable engine responds at tcp://x:1: a proxy in front of the engine blocks GET /containers/json (503 Service Unavailable)',
      true,
    ],
    [
      'another server',
      new EngineError('not-an-engine', 'the response is not from a container engine: <html>'),
      'no usable engine responds at tcp://x:1: the response is not from a container engine: <html>',
      true,
    ],
  ])('distinguishes %s', (_, fault, message, mayPass) => {
    expect(createEngineUnreachableError({ path: 'tcp://x:1' }, fault)).toMatchObject({
      code: 'no-engine',
      message,
      mayPass,
    });
  });
});
