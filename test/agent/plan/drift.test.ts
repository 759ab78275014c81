import { describe, expect, it } from 'vitest';
import { findDrift } from '../../../src/agent/plan/drift.ts';
import type { Model, ModelService } from '../../../src/engine/cli/compose.ts';
import { readContainer } from '../../../src/engine/container.ts';

const running = (overrides: object = {}) =>
  readContainer({
    Id: 'a'.repeat(64),
    Name: '/svc-app-1',
    Config: { Env: ['DB_PASSWORD=secret', 'PATH=/bin', 'EMPTY='] },
    HostConfig: {
      Binds: ['/opt/svc/data:/data:rw', 'svc_db:/var/lib/db:rw', `${'f'.repeat(64)}:/anonymous`],
      Mounts: [
        { Type: 'bind', Source: '/opt/svc/key.pem', Target: '/run/secrets/key' },
        { Type: 'volume', Target: '/anonymous-too' },
        { Type: 'tmpfs', Target: '/tmp' },
      ],
      PortBindings: { '8080/tcp': [{ HostIp: '127.0.0.1', HostPort: '80' }] },
      NetworkMode: 'svc_internal',
    },
    NetworkSettings: { Networks: { svc_internal: {} } },
    ...overrides,
  });

const data = { type: 'bind', source: '/opt/svc/data', target: '/data' };
const db = { type: 'volume', source: 'db', target: '/var/lib/db' };
const port = { target: 8080, published: '80', host_ip: '127.0.0.1', protocol: 'tcp' };
const app: ModelService = {
  image: 'svc:v1',
  environment: { DB_PASSWORD: 'another' },
  volumes: [data, db],
  secrets: [{ source: 'key', target: '/run/secrets/key' }],
  ports: [port],
  networks: { internal: null },
};
const model = (service: ModelService): Model => ({
  name: 'svc',
  services: { app: service },
  networks: { internal: { name: 'svc_internal' } },
  volumes: { db: { name: 'svc_db' } },
  secrets: { key: { file: '/opt/svc/key.pem' } },
});
const drift = (service: ModelService, container = running()) =>
  findDrift('app', container, model(service), new Map([['PATH', '/bin']]));

describe('findDrift', () => {
  it('finds none where the files say what runs; a changed value and additions are none', () => {
    expect(drift(app)).toEqual([]);
    expect(
      drift({
        ...app,
        environment: { ...app.environment, NEW: 'x' },
        ports: [port, { target: 9, published: '9', protocol: 'tcp' }],
        networks: { internal: null, other: null },
        volumes: [data, db, { type: 'bind', source: '/x', target: '/x' }],
      }),
    ).toEqual([]);
  });

  const lostPort = 'published port 127.0.0.1:80:8080/tcp would be dropped';
  const emptied = 'environment variable DB_PASSWORD would be emptied';
  const elsewhere = { ...data, source: '/root/data' };
  const otherVolume = { ...db, source: 'other' };

  it.each<[string, Partial<ModelService>, string]>([
    [
      'a mount that moves',
      { volumes: [elsewhere, db] },
      'the mount at /data would move from /opt/svc/data to /root/data',
    ],
    ['a mount that goes', { volumes: [db] }, 'the mount of /opt/svc/data at /data would be dropped'],
    [
      'a volume that changes',
      { volumes: [data, otherVolume] },
      'the mount at /var/lib/db would move from svc_db to other',
    ],
    [
      'a secret that goes',
      { secrets: [] },
      'the mount of /opt/svc/key.pem at /run/secrets/key would be dropped',
    ],
    ['a port that goes', { ports: [] }, lostPort],
    ['another published port', { ports: [{ ...port, published: '81' }] }, lostPort],
    ['another port inside', { ports: [{ ...port, target: 8081 }] }, lostPort],
    ['another protocol', { ports: [{ ...port, protocol: 'udp' }] }, lostPort],
    ['another address', { ports: [{ target: 8080, published: '80', protocol: 'tcp' }] }, lostPort],
    ['a network that goes', { networks: { other: null } }, 'network svc_internal would be dropped'],
    ['a network mode', { network_mode: 'host' }, 'network mode would change from svc_internal to host'],
    ['a key that goes', { environment: {} }, 'environment variable DB_PASSWORD would be dropped'],
    ['a key that is emptied', { environment: { DB_PASSWORD: '' } }, emptied],
    ['a key without a value', { environment: { DB_PASSWORD: null } }, emptied],
  ])('names %s, and never a value', (_, change, expected) => {
    expect(drift({ ...app, ...change })).toEqual([`app: ${expected}`]);
    expect(drift({ ...app, ...change }).join()).not.toMatch(/secret\b/);
  });

  it('takes a port out of a published range, and any address for any', () => {
    const container = running({
      Config: { Env: [] },
      HostConfig: {
        PortBindings: { '8080/tcp': [{ HostIp: '', HostPort: '8003' }] },
        NetworkMode: 'svc_internal',
      },
    });
    const ports = [{ target: 8080, published: '8000-8010', host_ip: '0.0.0.0', protocol: 'tcp' }];
    expect(drift({ ...app, ports }, container)).toEqual([]);
  });

  it('accepts the namespace of another service', () => {
    const container = running({
      Config: { Env: [] },
      HostConfig: { NetworkMode: `container:${'b'.repeat(64)}` },
      NetworkSettings: {},
    });
    expect(drift({ image: 'x', network_mode: 'service:proxy' }, container)).toEqual([]);
    expect(drift({ image: 'x' }, container)).toEqual([
      `app: network mode ${`container:${'b'.repeat(64)}`.slice(0, 40)} would be dropped`,
    ]);
  });

  it('says so when the service itself is gone', () => {
    expect(findDrift('app', running(), { name: 'svc', services: {} }, new Map())).toEqual([
      'service app is gone from the compose files',
    ]);
  });
});
