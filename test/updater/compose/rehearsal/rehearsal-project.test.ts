import { describe, expect, it } from 'vitest';
import type { ComposeModel, ComposeService } from '../../../../src/engine/cli/compose.ts';
import type { Json } from '../../../../src/engine/objects/json.ts';
import {
  buildRehearsalProject,
  findUnsupportedKeys,
  rehearsedMountsOf,
} from '../../../../src/updater/compose/rehearsal/rehearsal-project.ts';
import { image } from '../../../build.ts';

const modelOf = (app: ComposeService & Json, more: Partial<ComposeModel> = {}): ComposeModel => ({
  name: 'svc',
  services: { app, db: { image: 'postgres:15' }, traefik: { image: 'traefik' } },
  ...more,
});

const build = (model: ComposeModel, changes: Partial<Parameters<typeof buildRehearsalProject>[0]> = {}) =>
  buildRehearsalProject({
    ...{ name: 'svc-rehearsal-1', token: 'T', model, services: ['app', 'db'], app: 'app', migrations: [] },
    images: new Map([
      [
        'app',
        image('sha256:a', {
          labels: { 'traefik.enable': 'true', ofelia$: 'true', 'com.docker.compose.project': 'x' },
          env: new Map([['LETSENCRYPT_HOST', 'svc.example']]),
        }),
      ],
      ['db', image('sha256:d', { config: { Healthcheck: { Test: ['CMD', 'x'] } } })],
    ]),
    findCopy: () => null,
    listNestedCopies: () => [],
    imageVolumeCopies: new Map(),
    containerNames: new Map([['db', ['svc-db-1']]]),
    limits: { memory: 1_000, cpus: 2 },
    ...changes,
  }) as { services: Record<string, Json>; networks: Json } & Json;

describe('findUnsupportedKeys', () => {
  it.each<[string, Json, boolean]>([
    ['privileged', { privileged: true }, false],
    ['privileged', { privileged: false }, true],
    ['pid', { pid: 'host' }, false],
    ['pid', { pid: 'service:db' }, false],
    ['ipc', { ipc: 'host' }, false],
    ['ipc', { ipc: 'shareable' }, true],
    ['uts', { uts: 'host' }, false],
    ['userns_mode', { userns_mode: 'host' }, false],
    ['cgroup', { cgroup: 'host' }, false],
    ['network_mode', { network_mode: 'host' }, false],
    ['network_mode', { network_mode: 'service:db' }, false],
    ['network_mode', { network_mode: 'container:x' }, false],
    ['network_mode', { network_mode: 'none' }, true],
    ['devices', { devices: [{ source: '/dev/sda' }] }, false],
    ['device_cgroup_rules', { device_cgroup_rules: ['c 1:3 rwm'] }, false],
    ['gpus', { gpus: [{ count: -1 }] }, false],
    ['deploy', { deploy: { resources: { reservations: { devices: [{ capabilities: ['gpu'] }] } } } }, false],
    ['deploy', { deploy: { replicas: 2, resources: { limits: { memory: '1' } } } }, true],
    ['cap_add', { cap_add: ['NET_ADMIN'] }, false],
    ['cap_add', { cap_add: ['NET_RAW'] }, false],
    ['cap_add', { cap_add: ['CAP_CHOWN', 'SETUID'] }, true],
    ['security_opt', { security_opt: ['seccomp=unconfined'] }, false],
    ['security_opt', { security_opt: ['no-new-privileges:true'] }, true],
    ['security_opt', { security_opt: ['no-new-privileges:false'] }, false],
    ['runtime', { runtime: 'nvidia' }, false],
    ['volumes_from', { volumes_from: ['db'] }, false],
    ['use_api_socket', { use_api_socket: true }, false],
    ['provider', { provider: { type: 'x' } }, false],
    ['models', { models: { llm: null } }, false],
    ['pre_start', { pre_start: [{ command: 'x' }] }, false],
    ['post_start', { post_start: [{ command: 'x', privileged: true }] }, false],
    ['post_start', { post_start: [{ command: 'x' }] }, true],
    ['a_key_of_next_year', { a_key_of_next_year: 'x' }, false],
    ['a_key_of_next_year', { a_key_of_next_year: [] }, true],
    ['x-own', { 'x-own': { a: 1 } }, true],
    ['ports', { ports: [{ target: 80 }] }, true],
  ])('knows %s: %j', (key, definition, isSupported) => {
    expect(findUnsupportedKeys(modelOf(definition), ['app', 'db'])).toEqual(
      isSupported ? [] : [`app.${key}`],
    );
    expect(findUnsupportedKeys(modelOf(definition), ['db'])).toEqual([]);
  });

  it('knows mounts of an image, a cluster volume and a pipe', () => {
    const types = ['image', 'cluster', 'npipe', 'bind', 'volume', 'tmpfs'];
    const volumes = types.map((type) => ({ type, source: 'x', target: `/${type}` }));
    expect(findUnsupportedKeys(modelOf({ volumes }), ['app'])).toEqual([
      'app:/image',
      'app:/cluster',
      'app:/npipe',
    ]);
  });
});

it('lists all mounts as the engine knows them, with the files of secrets and configs', () => {
  const model = modelOf(
    {
      volumes: [
        { type: 'volume', source: 'data', target: '/data', volume: { subpath: 'a$$b' } },
        { type: 'bind', source: '/srv/$$x', target: '/x', read_only: true },
      ],
      secrets: [{ source: 'key' }, { source: 'word' }],
      configs: [{ source: 'conf', target: '/etc/conf' }],
    },
    {
      volumes: { data: { name: 'svc_data' } },
      secrets: { key: { file: '/srv/key' }, word: { environment: 'WORD' } },
      configs: { conf: { file: '/srv/conf' } },
    },
  );
  expect(rehearsedMountsOf(model, 'app')).toEqual([
    { type: 'volume', source: 'svc_data', subpath: 'a$b', target: '/data', isReadOnly: false },
    { type: 'bind', source: '/srv/$x', subpath: '', target: '/x', isReadOnly: true },
    { type: 'bind', source: '/srv/key', subpath: '', target: '/run/secrets/key', isReadOnly: true },
    { type: 'bind', source: '/srv/conf', subpath: '', target: '/etc/conf', isReadOnly: true },
  ]);
});

describe('buildRehearsalProject', () => {
  it('takes over only what cannot reach anything', () => {
    const { services, networks } = build(
      modelOf({
        ...{
          image: 'acme/svc:v2',
          container_name: 'svc',
          hostname: 'host',
          ports: [{ target: 80 }],
          command: ['run'],
        },
        ...{ labels: { 'traefik.enable': 'true' }, restart: 'always', logging: { driver: 'gelf' } },
        ...{
          networks: { front: { aliases: ['web'], ipv4_address: '10.0.0.2' } },
          extra_hosts: ['a:1.2.3.4'],
        },
        ...{ dns: ['1.1.1.1'], sysctls: { 'net.ipv6.conf.all.disable_ipv6': '0' }, mem_limit: '500' },
        environment: { A: '$$x', VIRTUAL_HOST: 'svc.example' },
        ulimits: { nofile: 9, rtprio: 99, nproc: 9 },
        depends_on: { db: { condition: 'service_started' }, traefik: { condition: 'service_started' } },
      }),
    );
    expect(services.app).toEqual({
      ...{
        hostname: 'host',
        command: ['run'],
        environment: { A: '$$x', VIRTUAL_HOST: '', LETSENCRYPT_HOST: '' },
        image: 'sha256:a',
        pull_policy: 'never',
      },
      ...{ restart: 'no', depends_on: { db: { condition: 'service_healthy' } }, volumes: [] },
      labels: {
        ...{ 'traefik.enable': 'false', 'com.centurylinklabs.watchtower.enable': 'false', ofelia$: '' },
        'svc-updater.rehearsal': 'T',
      },
      logging: { driver: 'json-file', options: { 'max-size': '10m' } },
      networks: { front: { aliases: ['web', 'svc', 'host'] } },
      ...{
        secrets: [],
        configs: [],
        cap_add: [],
        cap_drop: ['MKNOD', 'NET_RAW'],
        security_opt: [],
        ulimits: { nofile: 9 },
      },
      ...{
        cpus: 2,
        cpu_shares: 2,
        pids_limit: 4096,
        oom_score_adj: 1000,
        mem_limit: 500,
        memswap_limit: 500,
      },
    });
    expect(networks).toEqual({
      ...Object.fromEntries(
        ['front', 'default'].map((network) => [
          network,
          {
            ...{
              labels: { 'svc-updater.rehearsal': 'T' },
              driver: 'bridge',
            },
            ...{ internal: true, enable_ipv6: false },
            driver_opts: { 'com.docker.network.bridge.gateway_mode_ipv4': 'isolated' },
          },
        ]),
      ),
    });
  });

  it('mounts copies, and new volumes without a name for everything else', () => {
    const volumes = ['data', 'other', 'memory'].map((name) => ({
      ...{ type: name === 'memory' ? 'tmpfs' : 'bind', source: `/srv/${name}`, target: `/${name}` },
    }));
    const { services } = build(modelOf({ volumes }), {
      findCopy: (_, { source }) => (source === '/srv/data' ? '/copies/$1' : null),
      listNestedCopies: (copy) => (copy === '/copies/$1' ? [{ path: 'db', copy: '/copies/4' }] : []),
      imageVolumeCopies: new Map([
        [
          'app',
          new Map([
            ['/in-image', '/copies/2'],
            ['/data', '/copies/3'],
          ]),
        ],
      ]),
    });
    expect(services.app?.volumes).toEqual([
      {
        ...{ type: 'bind', source: '/copies/$$1', target: '/data', read_only: false },
        bind: { create_host_path: false },
      },
      {
        ...{ type: 'bind', source: '/copies/4', target: '/data/db', read_only: false },
        bind: { create_host_path: false },
      },
      { type: 'volume', target: '/other' },
      { type: 'tmpfs', target: '/memory' },
      {
        ...{ type: 'bind', source: '/copies/2', target: '/in-image', read_only: false },
        bind: { create_host_path: false },
      },
    ]);
  });

  it('keeps names of links as aliases, drops the rights of hooks, and starts migrations before the app', () => {
    const model = modelOf({
      ...{ links: ['db:database'], secrets: [{ source: 'key' }, { source: 'word' }] },
      post_start: [{ command: 'x', privileged: false, user: 'root', per_replica: true } as Json],
    });
    model.services.migrate = { image: 'x', network_mode: 'none' };
    model.secrets = { key: { file: '/srv/key' }, word: { environment: 'WORD' } };
    const project = build(model, { services: ['app', 'db', 'migrate'], migrations: ['migrate'] });
    expect(project.services.db?.networks).toEqual({ default: { aliases: ['database', 'svc-db-1'] } });
    expect(project.services.migrate).toMatchObject({ network_mode: 'none' });
    expect(project.services.app).toMatchObject({
      depends_on: { migrate: { condition: 'service_completed_successfully' } },
      secrets: [{ source: 'word' }],
      post_start: [{ command: 'x', user: 'root' }],
    });
    expect(project.secrets).toEqual({ word: { content: undefined, environment: 'WORD' } });
  });
});
