import { describe, expect, it } from 'vitest';
import type { ListedNetwork } from '../../../../src/engine/containers/rehearsal-requests.ts';
import type { Json } from '../../../../src/engine/objects/json.ts';
import { requireIsolation } from '../../../../src/updater/compose/rehearsal/check-isolation.ts';

const network: ListedNetwork = {
  ...{ id: 'n', name: 'r_default', isInternal: true, hasIpv6: false, token: 'T', gateways: [] },
  options: { 'com.docker.network.bridge.gateway_mode_ipv4': 'isolated' },
};
const mounts = [
  { Type: 'bind', Source: '/copies/0', Destination: '/data' },
  { Type: 'volume', Name: 'a'.repeat(64), Driver: 'local', Destination: '/new' },
  { Type: 'tmpfs', Destination: '/run' },
];
const container = (host: Json = {}, changes: Json = {}): Json => ({
  Name: '/r-app-1',
  Config: { Labels: { 'svc-updater.rehearsal': 'T' } },
  HostConfig: {
    ...{
      NetworkMode: 'r_default',
      IpcMode: 'private',
      PidMode: '',
      CapAdd: null,
      CapDrop: ['MKNOD', 'NET_RAW'],
    },
    ...{ RestartPolicy: { Name: 'no' }, SecurityOpt: null, PortBindings: {}, Devices: [], Privileged: false },
    ...host,
  },
  NetworkSettings: { Networks: { r_default: {} } },
  Mounts: mounts,
  ...changes,
});

function leaksOf(raw: Json, networks: ListedNetwork[] = [network]): string | null {
  try {
    requireIsolation([raw], { token: 'T', copies: ['/copies/0'], networks });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('requireIsolation', () => {
  it('accepts a container with copies, new volumes and isolated networks', () => {
    expect(leaksOf(container())).toBeNull();
    const Config = { Env: ['A=b', 'VIRTUAL_HOST=', 'PATH'], Labels: { 'svc-updater.rehearsal': 'T' } };
    expect(leaksOf(container({}, { Config }))).toBeNull();
    expect(
      leaksOf(container({ NetworkMode: 'none' }, { NetworkSettings: { Networks: { none: {} } } })),
    ).toBeNull();
    expect(leaksOf(container({ CapDrop: ['CAP_NET_RAW', 'CAP_MKNOD'], CapAdd: ['CAP_CHOWN'] }))).toBeNull();
  });

  it.each<[string, Json]>([
    ['Privileged', { Privileged: true }],
    ['PidMode', { PidMode: 'host' }],
    ['UTSMode', { UTSMode: 'host' }],
    ['UsernsMode', { UsernsMode: 'host' }],
    ['IpcMode', { IpcMode: 'host' }],
    ['IpcMode', { IpcMode: 'container:x' }],
    ['a network outside the rehearsal', { NetworkMode: 'host' }],
    ['a network outside the rehearsal', { NetworkMode: 'bridge' }],
    ['a network outside the rehearsal', { NetworkMode: 'container:x' }],
    ['PortBindings', { PortBindings: { '80/tcp': [{}] } }],
    ['PublishAllPorts', { PublishAllPorts: true }],
    ['Devices', { Devices: [{}] }],
    ['DeviceRequests', { DeviceRequests: [{}] }],
    ['DeviceCgroupRules', { DeviceCgroupRules: ['a'] }],
    ['VolumesFrom', { VolumesFrom: ['x'] }],
    ['ExtraHosts', { ExtraHosts: ['a:host-gateway'] }],
    ['Sysctls', { Sysctls: { 'net.ipv6.conf.all.disable_ipv6': '0' } }],
    ['CapAdd', { CapAdd: ['NET_ADMIN'] }],
    ['CapDrop', { CapDrop: ['MKNOD'] }],
    ['SecurityOpt', { SecurityOpt: ['apparmor=unconfined'] }],
    ['RestartPolicy', { RestartPolicy: { Name: 'always' } }],
  ])('rejects %s', (leak, host) => {
    expect(leaksOf(container(host))).toMatch(
      new RegExp(`^r-app-1 is not isolated: (?:HostConfig\\.)?${leak}$`),
    );
  });

  it.each<[string, Json]>([
    [
      'the mount at /x',
      { Mounts: [...mounts, { Type: 'bind', Source: '/copies/0/sub', Destination: '/x' }] },
    ],
    ['the mount at /x', { Mounts: [{ Type: 'bind', Source: '/srv', Destination: '/x' }] }],
    ['the mount at /x', { Mounts: [{ Type: 'volume', Name: 'svc_db', Driver: 'local', Destination: '/x' }] }],
    [
      'the mount at /x',
      { Mounts: [{ Type: 'volume', Name: 'a'.repeat(64), Driver: 'nfs', Destination: '/x' }] },
    ],
    ['the mount at /x', { Mounts: [{ Type: 'cluster', Destination: '/x' }] }],
    [
      'a network outside the rehearsal',
      { NetworkSettings: { Networks: { r_default: {}, svc_default: {} } } },
    ],
    ['its label is missing', { Config: { Labels: { 'svc-updater.rehearsal': 'other' } } }],
  ])('rejects %s: %j', (leak, changes) => {
    expect(leaksOf(container({}, changes))).toBe(`r-app-1 is not isolated: ${leak}`);
  });

  it.each<Partial<ListedNetwork>>([
    { isInternal: false },
    { hasIpv6: true },
    { options: {} },
    { token: 'other' },
  ])('rejects a network: %j', (changes) => {
    expect(leaksOf(container(), [{ ...network, ...changes }])).toBe('the network r_default is not isolated');
  });
});
