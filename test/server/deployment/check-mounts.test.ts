import { describe, expect, it } from 'vitest';
import { checkUpdaterMounts } from '../../../src/server/deployment/check-mounts.ts';
import { homeOf } from './deployment-of.ts';
import { type Reply, startAsked } from './engine.ts';

const directory = '/data/compose/7';
const home = homeOf({ directory, directories: [directory] });

/** Checks the mounts on a host that has everything, except for the given changes. */
async function check(changes: Record<string, Reply> = {}) {
  const replies: Record<string, Reply> = {
    'GET /version': { body: { ApiVersion: '1.45' } },
    'GET /images/sha256:1/json': { body: { Id: 'sha256:1' } },
    'GET /containers/json': { body: [] },
    'POST /containers/create': { status: 201, body: { Id: 'p1' } },
    'DELETE /containers/p1': { status: 204 },
    ...changes,
  };
  const asked = await startAsked((call) => replies[call]);
  const error = await checkUpdaterMounts(asked.engine, home).catch((thrown) => thrown);
  return { ...asked, error };
}

const missing = (path: string): Reply => ({
  status: 400,
  body: { message: `invalid mount config for type "bind": bind source path does not exist: ${path}` },
});

describe('checkMounts', () => {
  it("creates a container with the updater's mounts, never starts it, and removes it", async () => {
    const { asked, bodies, error } = await check();
    expect(error).toBeUndefined();
    expect(asked.slice(-2)).toEqual(['POST /containers/create', 'DELETE /containers/p1']);
    expect(asked).not.toContain('POST /containers/p1/start');
    expect(bodies).toEqual([
      {
        Image: 'sha256:1',
        Cmd: ['never-started'],
        Labels: { 'svc-updater.probe': 'svc' },
        HostConfig: {
          NetworkMode: 'none',
          Mounts: [
            expect.objectContaining({ Source: '/run/docker.sock' }),
            expect.objectContaining({ Source: '/data/compose/7', Target: '/data/compose/7' }),
            expect.objectContaining({ Source: '/root/.docker/config.json', ReadOnly: true }),
          ],
        },
      },
    ]);
  });

  it('clears the compose labels that the image has', async () => {
    const Labels = { 'com.docker.compose.project': 'svc', 'com.docker.compose.service': 'app', x: 'y' };
    const { bodies } = await check({
      'GET /images/sha256:1/json': { body: { Id: 'sha256:1', Config: { Labels } } },
    });
    expect(bodies[0].Labels).toEqual({
      'com.docker.compose.project': '',
      'com.docker.compose.service': '',
      'svc-updater.probe': 'svc',
    });
  });

  it('removes the container of an earlier check first', async () => {
    const left = { 'GET /containers/json': { body: [{ Id: 'old' }] } };
    const { asked } = await check({ ...left, 'DELETE /containers/old': { status: 204 } });
    expect(asked.indexOf('DELETE /containers/old')).toBeLessThan(asked.indexOf('POST /containers/create'));
    const denied = await check({ ...left, 'DELETE /containers/old': { status: 403 } });
    expect(denied.error).toMatchObject({
      code: 'refused-by-proxy',
      message: expect.stringContaining('DELETE /'),
    });
    expect(denied.asked).not.toContain('POST /containers/create');
  });

  // A manual update must not mount the missing file or directory.
  it.each<[string, Reply, string, object]>([
    ['a directory', missing('/data/compose/7'), 'no-directory', { directory, directories: [] }],
    ['the logins', missing('/root/.docker/config.json'), 'no-directory', { credentials: null }],
    ['the socket', missing('/run/docker.sock'), 'no-engine', { socket: null, directories: [directory] }],
  ])('reports that the host does not have %s', async (_, reply, code, known) => {
    const { error, asked } = await check({ 'POST /containers/create': reply });
    expect(error).toMatchObject({ name: 'DeploymentNotFoundError', code, mayPass: false, known });
    expect(asked.filter((call) => call.startsWith('DELETE'))).toEqual([]);
  });

  it.each<[string, Record<string, Reply>, boolean]>([
    [
      'the image is gone',
      { 'GET /images/sha256:1/json': { status: 404, body: { message: 'No such image' } } },
      false,
    ],
    [
      'a plugin of the engine refuses',
      { 'POST /containers/create': { status: 403, body: { message: 'authorization denied by plugin' } } },
      true,
    ],
  ])('does not report missing directories if %s', async (_, changes, isThrown) => {
    const { error } = await check(changes);
    expect(error?.name).toBe(isThrown ? 'EngineError' : undefined);
  });
});
