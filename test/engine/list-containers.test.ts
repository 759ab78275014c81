import { describe, expect, it } from 'vitest';
import type { Engine } from '../../src/engine/cli/engine.ts';
import { engineThat } from './http-engine.ts';

/** Responses by path; all other paths return 404. */
const engineWith = (answers: Record<string, [status: number, body: unknown]>): Promise<Engine> =>
  engineThat((from, to) => {
    const [status, body] = answers[decodeURIComponent(from.url ?? '')] ?? [404, { message: 'no such thing' }];
    to.writeHead(status).end(JSON.stringify(body));
  });

const away = (message: string) => expect.objectContaining({ code: 'engine-unavailable', message });

describe('listContainers', () => {
  it('sends the filters and includes stopped containers', async () => {
    let asked = new URL('http://engine');
    const engine = await engineThat((from, to) => {
      asked = new URL(from.url ?? '', 'http://engine');
      to.end(
        JSON.stringify([
          { Id: 'a1', Labels: { x: 'y' }, HostConfig: { NetworkMode: 'container:c3' } },
          { Id: 'b2', Labels: null },
        ]),
      );
    });
    const untold = { name: '', status: '', imageId: '', imageReference: '' };
    expect(await engine.listContainers({ label: ['x=y&z'] })).toEqual([
      { ...untold, id: 'a1', labels: { x: 'y' }, networkMode: 'container:c3' },
      { ...untold, id: 'b2', labels: {}, networkMode: '' },
    ]);
    expect(asked.pathname).toBe('/containers/json');
    expect(Object.fromEntries(asked.searchParams)).toEqual({ all: '1', filters: '{"label":["x=y&z"]}' });
  });
});

describe('inspectContainers', () => {
  it('returns containers in the requested order and skips removed containers', async () => {
    let asked = 0;
    const engine = await engineThat((from, to) => {
      const [, , id = ''] = (from.url ?? '').split('/');
      const going = id === 'going' && ++asked < 3;
      const names: Record<string, string> = { c: '/third', a: '/first' };
      to.writeHead(going ? 500 : id in names ? 200 : 404);
      to.end(
        JSON.stringify(
          going ? { message: 'RWLayer is unexpectedly nil' } : { Id: id, Name: names[id], message: 'none' },
        ),
      );
    });
    const found = await engine.inspectContainers(['c', 'gone', 'going', 'a']);
    expect(found.map(({ name }) => name)).toEqual(['third', 'first']);
  });

  it.concurrent('does not treat a permanent error as a missing container', async () => {
    const engine = await engineWith({ '/containers/a/json': [500, { message: 'disk' }] });
    await expect(engine.inspectContainers(['a'])).rejects.toThrow(
      away('the engine failed to answer (GET /containers/a/json): disk'),
    );
  });
});

describe('inspectRaw', () => {
  it('skips removed containers and retries after a failure', async () => {
    let failures = 2;
    const engine = await engineThat((from, to) => {
      const isGone = from.url?.includes('gone');
      to.writeHead(isGone ? 404 : failures-- > 0 ? 500 : 200).end('{"Id":"a","message":"disk"}');
    });
    expect(await engine.inspectRaw(['a', 'gone'])).toEqual([{ Id: 'a', message: 'disk' }]);
  });
});

describe('inspectImages', () => {
  it('accepts any reference and returns null for a missing image', async () => {
    const engine = await engineWith({
      '/images/ghcr.io/acme/svc:v1@sha256:ab/json?manifests=1': [200, { Id: 'sha256:cd', Size: 7 }],
    });
    const [here, gone] = await engine.inspectImages(['ghcr.io/acme/svc:v1@sha256:ab', 'gone']);
    expect([here?.id, here?.size, gone]).toEqual(['sha256:cd', 7, null]);
  });

  it('requests the local platform of an index if the default platform is missing', async () => {
    const manifest = (architecture: string, Available: boolean) => ({
      ...{ ID: `sha256:${architecture}`, Kind: 'image', Available },
      ...(Available && { ImageData: { Platform: { os: 'linux', architecture } } }),
    });
    const index = {
      ...{ Id: 'sha256:index', Os: '', Config: {}, RepoDigests: ['svc@sha256:index'] },
      Manifests: [manifest('amd64', false), manifest('arm64', true)],
    };
    const own = {
      Id: 'sha256:arm64',
      Os: 'linux',
      Architecture: 'arm64',
      Config: { Labels: { of: 'arm64' } },
    };
    const engine = await engineWith({
      '/images/a/json?manifests=1': [200, index],
      '/images/a/json?platform={"os":"linux","architecture":"arm64"}': [200, own],
      // Removed before its platform is requested.
      '/images/c/json?manifests=1': [200, index],
    });
    const [a, ...others] = await engine.inspectImages(['a', 'c']);
    expect(a).toMatchObject({ id: 'sha256:index', labels: { of: 'arm64' }, platform: 'linux/arm64' });
    expect(a).toMatchObject({
      manifests: ['sha256:arm64'],
      digests: ['svc@sha256:index'],
      config: own.Config,
    });
    for (const each of others)
      expect(each).toMatchObject({ id: 'sha256:index', config: null, platform: null });
  });
});

describe('stopContainers', () => {
  it('accepts stopped or removed containers, but reports an error', async () => {
    const engine = await engineWith({
      '/containers/a/stop': [204, null],
      '/containers/b/stop': [304, null],
      '/containers/c/stop': [500, { message: 'cannot stop container: busy' }],
    });
    await engine.stopContainers(['a', 'b', 'gone']);
    // A grace period changes the path, so the response is 404 and the container counts as removed.
    await engine.stopContainers(['c'], new Map([['c', 60]]));
    await expect(engine.stopContainers(['a', 'c'])).rejects.toThrow(
      away('the engine failed to stop c: cannot stop container: busy'),
    );
  });
});

it('an error gives advice if a proxy blocks the request', async () => {
  const engine = await engineThat((_, to) => to.writeHead(403).end('<h1>403 Forbidden</h1>'));
  await expect(engine.listContainers({})).rejects.toThrow(
    expect.objectContaining({
      code: 'engine-unavailable',
      message: 'a proxy in front of the engine blocks GET /containers/json (403 Forbidden)',
      advice: expect.stringContaining('In the proxy, allow all requests'),
    }),
  );
});
