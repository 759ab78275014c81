import { describe, expect, it } from 'vitest';
import {
  type ContainerSnapshot,
  toContainerSnapshot,
} from '../../../src/engine/containers/container-snapshot.ts';
import { listCopiedPaths } from '../../../src/engine/containers/copied-files.ts';
import type { Json } from '../../../src/engine/objects/json.ts';

const id = '0123456789ab'.padEnd(64, 'c');
const volume = 'f'.repeat(64);

/** Snapshot of a minimal container with these additional parts. */
function blueprint(
  parts: { config?: Json; host?: Json; mounts?: Json[]; networks?: Json; raw?: Json },
  apiVersion?: string,
): ContainerSnapshot {
  return toContainerSnapshot(
    {
      Id: id,
      Name: '/svc-app-1',
      Image: 'sha256:abc',
      Config: { Image: 'svc:v1', Hostname: id.slice(0, 12), Labels: { a: 'b' }, ...parts.config },
      HostConfig: { NetworkMode: 'svc_default', Binds: null, ...parts.host },
      Mounts: parts.mounts ?? [],
      NetworkSettings: { Networks: parts.networks ?? {} },
      ...parts.raw,
    },
    apiVersion,
  );
}

const mounted = (Destination: string, more: Json = {}): Json => ({
  ...{ Type: 'volume', Name: volume, Destination, RW: true },
  ...more,
});

describe('buildSnapshot', () => {
  it('returns the container as plain JSON', () => {
    const made = blueprint({ raw: { ImageManifestDescriptor: null } });
    expect(made).toEqual({
      ...{ id, name: 'svc-app-1', imageId: 'sha256:abc', imageReference: 'svc:v1', platform: null },
      imageManifest: null,
      config: { Image: 'svc:v1', Labels: { a: 'b' } },
      hostConfig: { NetworkMode: 'svc_default', Binds: null, Mounts: null },
      ...{ networks: {}, published: [], copied: [], lost: [] },
    });
    expect(JSON.parse(JSON.stringify(made))).toEqual(made);
  });

  it.each([
    [{ os: 'linux', architecture: 'arm64', variant: 'v8' }, 'linux/arm64/v8'],
    [{ os: 'linux', architecture: 'amd64' }, 'linux/amd64'],
    [undefined, null],
  ])('includes the platform of an image with several platforms: %j', (platform, expected) => {
    expect(blueprint({ raw: { ImageManifestDescriptor: { platform } } }).platform).toBe(expected);
  });

  it.each<[why: string, config: Json, host: Json, kept: Json]>([
    ['a chosen name', { Hostname: 'chosen' }, {}, { Hostname: 'chosen' }],
    ['the default name', {}, {}, {}],
    ["the host's", { Hostname: 'host' }, { UTSMode: 'host' }, {}],
    [
      "another container's, with its ports",
      { Hostname: 'chosen', Domainname: 'd', ExposedPorts: { '80/tcp': {} } },
      { NetworkMode: `container:${volume}` },
      {},
    ],
  ])('includes the host name only if it was set for this container: %s', (_, config, host, kept) => {
    expect(blueprint({ config, host }).config).toEqual({ Image: 'svc:v1', Labels: { a: 'b' }, ...kept });
  });

  const again = (Target: string, more: Json = {}) => ({ Type: 'volume', Source: volume, Target, ...more });
  it.each<[why: string, host: Json, mounts: Json[], binds: unknown, mountsAgain: unknown]>([
    ['of the image', {}, [mounted('/x')], null, [again('/x')]],
    [
      'a mount without a source',
      { Mounts: [{ Type: 'volume', Target: '/x/', VolumeOptions: { NoCopy: true } }] },
      [mounted('/x')],
      null,
      [again('/x/', { VolumeOptions: { NoCopy: true } })],
    ],
    ['a bind that is a path alone', { Binds: ['/x', '/a:/b'] }, [mounted('/x')], ['/a:/b'], [again('/x')]],
    ['named by a bind', { Binds: [`${volume}:/x/:ro`] }, [mounted('/x')], [`${volume}:/x/:ro`], null],
    ['named by a mount', { Mounts: [again('/x')] }, [mounted('/x')], null, [again('/x')]],
    [
      "another container's named one",
      { VolumesFrom: ['db'] },
      [mounted('/db', { Name: 'db' }), mounted('/x')],
      null,
      [again('/x')],
    ],
    [
      'a tmpfs mount without a source',
      { Mounts: [{ Type: 'tmpfs', Target: '/t' }] },
      [],
      null,
      [{ Type: 'tmpfs', Target: '/t' }],
    ],
  ])('mounts the same volumes again: %s', (_, host, mounts, binds, mountsAgain) => {
    expect(blueprint({ host, mounts }).hostConfig).toMatchObject({ Binds: binds, Mounts: mountsAgain });
  });

  const generated = { IPAddress: '172.18.0.10', MacAddress: '02:42:ac:12:00:0a', NetworkID: 'n' };
  const chosen = { IPAddress: '172.18.0.10', MacAddress: '02:11:22:33:44:55' };
  it.each<[why: string, parts: Parameters<typeof blueprint>[0], networks: Json, apiVersion?: string]>([
    [
      'what the engine chose is left out',
      { networks: { svc_default: { ...generated, Aliases: ['app', id.slice(0, 12), 'svc-app-1'] } } },
      { svc_default: { Aliases: ['app', 'svc-app-1'] } },
    ],
    [
      'what was asked for is kept',
      {
        networks: {
          svc_default: {
            ...generated,
            IPAMConfig: { IPv4Address: '172.18.0.10', LinkLocalIPs: ['169.254.1.1'] },
            ...{ Links: ['db:database'], DriverOpts: { 'com.example': '1' }, GwPriority: 7 },
          },
        },
      },
      {
        svc_default: {
          IPAMConfig: { IPv4Address: '172.18.0.10', LinkLocalIPs: ['169.254.1.1'] },
          ...{ Links: ['db:database'], DriverOpts: { 'com.example': '1' }, GwPriority: 7 },
        },
      },
    ],
    [
      'a chosen MAC address, of the first network and of another',
      {
        config: { MacAddress: '02:aa:00:00:00:01' },
        networks: { svc_default: { ...chosen, MacAddress: '02:aa:00:00:00:01' }, z: chosen, y: generated },
      },
      { svc_default: { MacAddress: '02:aa:00:00:00:01' }, z: { MacAddress: '02:11:22:33:44:55' }, y: {} },
    ],
    [
      'an unlike MAC address of an engine that does not tell',
      { networks: { svc_default: chosen, z: generated } },
      { svc_default: { MacAddress: '02:11:22:33:44:55' }, z: {} },
      '1.52',
    ],
    ['of a stopped container', { networks: { z: { MacAddress: '', IPAddress: '' } } }, { z: {} }],
  ])('includes the configured settings of networks: %s', (_, parts, networks, apiVersion = '1.45') => {
    const made = blueprint(parts, apiVersion);
    expect(made.networks).toEqual(networks);
    expect(made.config).not.toHaveProperty('MacAddress');
  });
});

describe('listCopiedPaths', () => {
  it.each<[service: unknown, paths: string[]]>([
    [undefined, []],
    [{ configs: null }, []],
    [
      {
        configs: ['a', { source: 'b' }, { source: 'c', target: '/etc/c' }, { source: 'd', target: 'd.conf' }],
      },
      ['/a', '/b', '/etc/c', '/d.conf'],
    ],
    [
      {
        secrets: [
          'a',
          { source: 'b', target: '' },
          { source: 'c', target: '/c' },
          { source: 'd', target: 'e' },
        ],
      },
      ['/run/secrets/a', '/run/secrets/b', '/c', '/run/secrets/e'],
    ],
  ])('lists the paths of configs and secrets: %j', (service, paths) => {
    expect(listCopiedPaths(service)).toEqual(paths);
  });
});
