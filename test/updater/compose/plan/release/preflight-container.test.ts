import { describe, expect, it } from 'vitest';
import type { ComposeService } from '../../../../../src/engine/cli/compose.ts';
import type { Container, StorageMount } from '../../../../../src/engine/objects/container.ts';
import { createPreflightContainerSpec } from '../../../../../src/updater/compose/plan/release/preflight.ts';
import { container, image } from '../../../../build.ts';
import { installed, modelOf, planTo, preparedPlan, projectFiles } from '../../../../build-plan.ts';

const files = projectFiles({
  'compose.yaml': 'services:\n  app:\n    image: acme/svc:v1.0.0\n    env_file: app.env\n',
});
const labels = { 'traefik.enable': 'true' };

interface Case {
  app?: Partial<Container>;
  /** The old environment in the files. */
  before?: ComposeService['environment'];
  /** The service in the new files. */
  after?: object;
  /** The environment that `up` would send for the old files. */
  sent?: string[];
  /** The old and the new env file. */
  envFile?: [string, string];
}

function made({ app = {}, before = {}, after = {}, sent = [], envFile }: Case) {
  const from = installed(files, {
    services: { app: [container('app-1', app)] },
    model: modelOf(files, { app: { environment: before } }),
    requests: new Map([['app', { name: 'svc-app-1', body: { Env: sent }, apiVersion: '1.45' }]]),
  });
  const [old, text] = envFile ?? [];
  const path = '/opt/svc/app.env';
  const changes = text === undefined ? [] : [{ path, before: old ?? null, after: text, description: '' }];
  const model = modelOf(files, { app: after });
  const plan = preparedPlan(planTo('v1.1.0', from), { model, changes });
  return createPreflightContainerSpec(plan, image('sha256:new', { labels }), ['/check']);
}

const mount = (source: string, destination: string, changes: Partial<StorageMount> = {}): StorageMount => ({
  ...{ type: 'bind', source, destination, writable: true, path: source, subpath: '', driver: '' },
  ...changes,
});

describe('buildPreflightContainer', () => {
  it('runs the command in place of the entrypoint, with limits and without labels', () => {
    const { config, hostConfig } = made({ after: { user: '1000:5', group_add: [7] } });
    expect(config).toMatchObject({
      ...{ Entrypoint: ['/check'], Cmd: [], User: '1000:5' },
      ...{ Labels: { 'traefik.enable': '' }, Healthcheck: { Test: ['NONE'] } },
    });
    expect(hostConfig).toMatchObject({
      ...{ ReadonlyRootfs: true, CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'], GroupAdd: ['7'] },
      ...{ Memory: 536_870_912, MemorySwap: 536_870_912, PidsLimit: 256, Tmpfs: { '/tmp': '' } },
    });
    expect(hostConfig).not.toHaveProperty('RestartPolicy');
  });

  it.each<[string, Partial<Container>, string, string[]]>([
    ['its networks', { networkMode: 'a', networks: ['a', 'b'] }, 'a', ['b']],
    ['the default network', { networkMode: 'bridge', networks: ['bridge'] }, 'bridge', []],
    ['no network', { networkMode: 'none', networks: ['none'] }, 'none', []],
    ['the network of the host', { networkMode: 'host', networks: ['host'] }, 'host', []],
    ['the network of another container', { networkMode: 'container:c0ffee' }, 'container:c0ffee', []],
  ])('uses %s', (_, app, mode, more) => {
    const { hostConfig, moreNetworks } = made({ app: { ...app, extraHosts: ['db:10.0.0.5'] } });
    expect([hostConfig.NetworkMode, moreNetworks]).toEqual([mode, more]);
    expect('ExtraHosts' in hostConfig).toBe(/^(?:a|bridge)$/.test(mode));
  });

  it('adds the mounts of the app read-only, without sockets', () => {
    const volume = { type: 'volume', path: '/var/lib/docker/volumes/data/_data' };
    const storage = [
      mount('data', '/data', { ...volume, subpath: 'app' }),
      mount('/opt/svc/files', '/files'),
      mount('/opt/svc/password', '/run/secrets/password'),
      ...['/', '/var', '/run', '/var/run/docker.sock', '/home/ada/docker.sock'].map((path) =>
        mount(path, '/host'),
      ),
      mount('/opt/svc/socket', '/var/run/x'),
      mount('run', '/run', volume),
      mount('temporary', '/tmp', volume),
      mount('', '/cache', { type: 'tmpfs' }),
    ];
    const bind = (Source: string, Target: string) => ({ Type: 'bind', Source, Target, ReadOnly: true });
    expect(made({ app: { storage } }).hostConfig.Mounts).toEqual([
      {
        ...{ Type: 'volume', Source: 'data', Target: '/data', ReadOnly: true },
        VolumeOptions: { NoCopy: true, Subpath: 'app' },
      },
      bind('/opt/svc/files', '/files'),
      bind('/opt/svc/password', '/run/secrets/password'),
    ]);
  });

  it.each<[string, Case, string[]]>([
    [
      'is that of the new files',
      { before: { A: '1', B: '1' }, sent: ['A=1', 'B=1'], after: { environment: { A: 'a$$b' } } },
      ['A=a$b'],
    ],
    [
      'has values of env files that only up resolves',
      { sent: ['A=1', 'C=3'], before: { A: '1' }, after: { environment: { A: '2' } } },
      ['C=3', 'A=2'],
    ],
    [
      'has the values of a changed env file',
      { sent: ['V=v1', 'A=own'], envFile: ['V=v1\nA=1\n', 'V=v2\nA=2\nN=new\n'] },
      ['V=v2', 'A=own', 'N=new'],
    ],
    [
      'has nothing that proxies look for',
      { after: { environment: { VIRTUAL_HOST: 'a', LETSENCRYPT_HOST: 'a' } } },
      [],
    ],
  ])('creates a container whose environment %s', (_, given, expected) => {
    expect(made(given).config.Env).toEqual(expected);
  });
});
