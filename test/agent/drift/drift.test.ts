import { describe, expect, it } from 'vitest';
import {
  type GivenBesides,
  plannedDefinition,
  runningDefinition,
} from '../../../src/agent/drift/definition.ts';
import type { EngineDefaults } from '../../../src/agent/drift/engine-choices.ts';
import { adviceFor, type Finding, judgeDifference } from '../../../src/agent/drift/judge.ts';
import { type Definition, findDifferences } from '../../../src/agent/drift/shape.ts';
import type { Json } from '../../../src/engine/json.ts';

// What a container has against what compose would send for it, key by key of the compose specification. That compose and
// the engine write them so is held by test/e2e/drift.test.ts.

const hex = 'f'.repeat(64);
const id = 'a'.repeat(64);
const imageOfRelease: Json = {
  Env: ['PATH=/bin', 'LANG=C'],
  Cmd: ['serve'],
  Entrypoint: ['/entry'],
  Labels: { 'org.example.version': '1.0.0' },
  User: 'app',
  WorkingDir: '/srv',
  StopSignal: 'SIGINT',
  ExposedPorts: { '8080/tcp': {} },
  Volumes: { '/cache': {} },
  Healthcheck: { Test: ['CMD', 'probe'], Interval: 5e9, Retries: 3 },
};

interface Parts {
  name?: string;
  config?: Json;
  host?: Json;
  networks?: Record<string, Json>;
  mounts?: Json[];
}

/** As `inspect` tells of a container that got nothing but what the image gives and the engine chooses. */
function inspected({
  name = 'svc-app-1',
  config = {},
  host = {},
  networks = { svc_default: {} },
  mounts = [],
}: Parts): Json {
  const { Volumes: _, ...ofImage } = imageOfRelease;
  return {
    Id: id,
    Name: `/${name}`,
    Config: { Hostname: id.slice(0, 12), Tty: false, Image: 'svc:v1', ...ofImage, ...config },
    HostConfig: {
      NetworkMode: 'svc_default',
      IpcMode: 'private',
      CgroupnsMode: 'private',
      Runtime: 'runc',
      ShmSize: 67108864,
      RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
      LogConfig: { Type: 'json-file', Config: {} },
      MaskedPaths: ['/proc/kcore'],
      ReadonlyPaths: ['/proc/bus'],
      MemorySwappiness: null,
      OomKillDisable: null,
      PidsLimit: null,
      ...host,
    },
    NetworkSettings: { Networks: networks },
    Mounts: [{ Type: 'volume', Name: hex, Destination: '/cache', RW: true }, ...mounts],
  };
}

/** As compose sends it for a service that says nothing but its image. */
const sent = ({ config = {}, host = {}, networks = { svc_default: {} } }: Parts): Json => ({
  Hostname: '',
  Domainname: '',
  User: '',
  Tty: false,
  Cmd: null,
  Entrypoint: null,
  Env: null,
  WorkingDir: '',
  Image: 'sha256:abc',
  Labels: {},
  ...config,
  HostConfig: {
    Binds: null,
    Mounts: [{ Type: 'volume', Source: hex, Target: '/cache' }],
    NetworkMode: 'svc_default',
    RestartPolicy: { Name: '', MaximumRetryCount: 0 },
    LogConfig: { Type: '', Config: null },
    OomKillDisable: false,
    MaskedPaths: null,
    ReadonlyPaths: null,
    ...host,
  },
  NetworkingConfig: { EndpointsConfig: networks },
});

const nothingUnset = { unset: [], texts: ['written'], home: '/root' };

/** An engine that limits everything, and gives its containers swap, options of its log, and limits of its own. */
const defaults: EngineDefaults = {
  own: {
    IpcMode: 'private',
    CgroupnsMode: 'private',
    ShmSize: 67108864,
    LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
    Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }],
  },
  info: {
    ...{ LoggingDriver: 'json-file', DefaultRuntime: 'runc', CgroupVersion: '2', MemoryLimit: true },
    ...{ SwapLimit: true, CpuCfsQuota: true, CpuCfsPeriod: true, CPUShares: true, CPUSet: true },
    ...{ PidsLimit: true, OomKillDisable: true },
  },
  isPodman: false,
};

function findings(has: Parts, would: Parts, given: Partial<GivenBesides> = {}): Finding[] {
  const running: Definition = runningDefinition(inspected(has), ['app', 'svc-app-1']);
  const besides = { image: imageOfRelease, moreNetworks: [], defaults, ...given };
  const planned = plannedDefinition({ name: would.name ?? 'svc-app-1', body: sent(would) }, running, besides);
  const differences = findDifferences(running, planned);
  return differences.map((difference) => judgeDifference('app', difference, nothingUnset));
}

const sentences = (found: readonly Finding[]) => found.map(({ sentence }) => sentence.replace('app: ', ''));

const host = (has: Json, would: Json): [Parts, Parts] => [{ host: has }, { host: would }];
const config = (has: Json, would: Json): [Parts, Parts] => [{ config: has }, { config: would }];
const anonymous = { Type: 'volume', Source: hex, Target: '/cache' };
const env = (...mine: string[]) => ({ Env: [...mine, 'PATH=/bin', 'LANG=C'] });
const ofMode = (mode: string, networks = {}): Parts => ({ host: { NetworkMode: mode }, networks });
const aliases = (...names: string[]): Parts => ({ networks: { svc_default: { Aliases: names } } });

describe('no difference', () => {
  it.each<[string, [Parts, Parts]]>([
    ['what the image gives and the engine chooses', host({}, {})],
    [
      'an image, a command and the rest as the image has them',
      config({}, { Cmd: ['serve'], User: 'app', WorkingDir: '/srv/' }),
    ],
    ['the order of the environment', config(env('B=2', 'A=1'), { Env: ['A=1', 'B=2'] })],
    ['a variable of the image that is said again', config({}, { Env: ['LANG=C'] })],
    ['a variable that is taken from the image', config({ Env: ['PATH=/bin', 'LANG'] }, { Env: ['LANG'] })],
    [
      'labels of compose',
      config(
        { Labels: { ...(imageOfRelease.Labels as Json), 'com.docker.compose.config-hash': 'a' } },
        { Labels: { 'com.docker.compose.config-hash': 'b', 'com.docker.compose.image': 'c' } },
      ),
    ],
    [
      'a health check that takes its test from the image',
      config(
        { Healthcheck: { Test: ['CMD', 'probe'], Interval: 9e9, Retries: 3 } },
        { Healthcheck: { Interval: 9e9 } },
      ),
    ],
    [
      'an entrypoint that leaves no command',
      config({ Entrypoint: ['/other'], Cmd: null }, { Entrypoint: ['/other'] }),
    ],
    [
      'an entrypoint that is reset',
      config({ Entrypoint: null, Cmd: ['serve'] }, { Entrypoint: [''], Cmd: ['serve'] }),
    ],
    ['SIGTERM in other words', config({ StopSignal: 'SIGTERM' }, { StopSignal: 'TERM' })],
    [
      'CAP_ or not, and the order',
      host({ CapAdd: ['CAP_NET_ADMIN', 'CAP_SYS_TIME'] }, { CapAdd: ['sys_time', 'NET_ADMIN'] }),
    ],
    [
      'security options in two spellings',
      host(
        { SecurityOpt: ['no-new-privileges=true', 'label:disable'] },
        { SecurityOpt: ['label=disable', 'no-new-privileges'] },
      ),
    ],
    [
      'hosts in two spellings',
      host({ ExtraHosts: ['a:1.2.3.4', 'six:::1'] }, { ExtraHosts: ['six=[::1]', 'a=1.2.3.4'] }),
    ],
    [
      'options of a tmpfs in another order',
      host({ Tmpfs: { '/run': 'size=1m,mode=700' } }, { Tmpfs: { '/run': 'mode=700,size=1m' } }),
    ],
    [
      'rights of a device',
      host(
        { Devices: [{ PathOnHost: '/dev/a', PathInContainer: '/dev/b', CgroupPermissions: 'rwm' }] },
        { Devices: [{ PathOnHost: '/dev/a', PathInContainer: '/dev/b', CgroupPermissions: 'mrw' }] },
      ),
    ],
    ['swap that the engine adds', host({ Memory: 100, MemorySwap: 200 }, { Memory: 100 })],
    [
      'a limit of which the engine does not say whether its kernel knows it',
      host({ MemorySwappiness: null, BlkioWeight: 0 }, { MemorySwappiness: 5, BlkioWeight: 300 }),
    ],
    [
      "the daemon's log options",
      host(
        { LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '3' } } },
        { LogConfig: { Type: 'json-file', Config: { 'max-file': '3' } } },
      ),
    ],
    [
      "the daemon's ulimits",
      host(
        {
          Ulimits: [
            { Name: 'nofile', Soft: 1, Hard: 2 },
            { Name: 'core', Soft: 0, Hard: 0 },
          ],
        },
        { Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }] },
      ),
    ],
    [
      'a named volume in Binds or Mounts',
      host(
        { Mounts: [{ Type: 'volume', Source: 'svc_db', Target: '/db', VolumeOptions: {} }] },
        { Binds: ['svc_db:/db:rw'], Mounts: [anonymous] },
      ),
    ],
    [
      'a bind in Binds or Mounts',
      host(
        { Binds: ['/opt/svc/a$b:/a:ro'] },
        {
          Mounts: [
            anonymous,
            {
              Type: 'bind',
              Source: '/opt/svc/a$b/',
              Target: '/a/',
              ReadOnly: true,
              BindOptions: { CreateMountpoint: true },
            },
          ],
        },
      ),
    ],
    [
      'an anonymous volume that compose takes along',
      host(
        { Binds: ['/scratch'] },
        { Mounts: [anonymous, { Type: 'volume', Source: 'e'.repeat(64), Target: '/scratch' }] },
      ),
    ],
    [
      'volumes of another container',
      [
        {
          host: { VolumesFrom: ['service:db read-only'] },
          mounts: [{ Type: 'volume', Name: 'e'.repeat(64), Destination: '/theirs', RW: false }],
        },
        { host: { VolumesFrom: ['service:db read-only'] } },
      ],
    ],
    [
      'any address',
      host(
        { PortBindings: { '80/tcp': [{ HostIp: '', HostPort: '8080' }] } },
        { PortBindings: { '80/tcp': [{ HostIp: '0.0.0.0', HostPort: '8080' }] } },
      ),
    ],
    [
      'a port that the engine chooses',
      host(
        { PortBindings: { '80/tcp': [{ HostIp: '', HostPort: '0' }] } },
        { PortBindings: { '80/tcp': [{ HostPort: '' }] } },
      ),
    ],
    [
      'a range of ports',
      host(
        { PortBindings: { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '8000-8010' }] } },
        { PortBindings: { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '8000-8010' }] } },
      ),
    ],
    [
      'a port out of a range, as older compose sends it',
      host(
        { PortBindings: { '80/tcp': [{ HostPort: '8003' }] } },
        { PortBindings: { '80/tcp': [{ HostPort: '8000-8010' }] } },
      ),
    ],
    [
      'its own names among the aliases',
      [aliases('svc-app-1', 'app', 'www', id.slice(0, 12)), aliases('www', 'svc-app-1', 'app')],
    ],
    [
      'an address that the engine chose',
      [
        {
          networks: {
            svc_default: { IPAMConfig: {}, IPAddress: '10.0.0.9' },
          },
        },
        { networks: { svc_default: { IPAMConfig: { IPv4Address: '', LinkLocalIPs: null } } } },
      ],
    ],
    [
      'an address that the swarm chose',
      [
        {
          networks: {
            svc_default: { NetworkID: 'q1w2e3r4t5y6u7i8o9p0a1s2d', IPAMConfig: { IPv4Address: '10.0.1.5' } },
          },
        },
        {},
      ],
    ],
    [
      'the network of a service whose container was removed meanwhile',
      [ofMode('container:gone'), ofMode('service:app')],
    ],
    [
      'volumes of a container that was removed meanwhile',
      host({ VolumesFrom: ['container:gone read-only'] }, { VolumesFrom: ['service:db read-only'] }),
    ],
    [
      'the number that a link has from the container',
      [
        { networks: { svc_default: { Links: ['svc-db-1:database', 'svc-db-1:db-2'] } } },
        { networks: { svc_default: { Links: ['svc-db-1:database', 'svc-db-1:db-1'] } } },
      ],
    ],
    ['the name of the second container', [{ name: 'svc-app-2' }, { name: 'svc-app-1' }]],
    [
      "the app's host name, of one that has left its network",
      [
        { host: { NetworkMode: 'service:app' }, config: { Hostname: 'svc' } },
        { host: { NetworkMode: 'service:app' } },
      ],
    ],
    ["the host's network", [ofMode('host', { host: {} }), ofMode('host')]],
    ['no network', [ofMode('none', { none: {} }), ofMode('none')]],
    ['the default bridge', [ofMode('bridge', { bridge: {} }), ofMode('bridge')]],
    [
      'paths that are not masked',
      host({ MaskedPaths: [], ReadonlyPaths: [] }, { MaskedPaths: [], ReadonlyPaths: [] }),
    ],
    [
      'what privileges bring',
      host({ Privileged: true, MaskedPaths: null, SecurityOpt: ['label=disable'] }, { Privileged: true }),
    ],
  ])('%s', (_, [has, would]) => {
    expect(findings(has, would)).toEqual([]);
  });

  it.each<[string, Partial<EngineDefaults>, [Parts, Parts]]>([
    [
      'a limit that the kernel does not know',
      { info: {} },
      host({ Memory: 0, MemorySwap: -1, CpuShares: 0 }, { Memory: 100, MemorySwap: 200, CpuShares: 5 }),
    ],
    [
      "the daemon's log driver and runtime",
      { info: { LoggingDriver: 'journald', DefaultRuntime: 'nvidia' } },
      host({ LogConfig: { Type: 'journald', Config: { tag: 'x' } }, Runtime: 'nvidia' }, {}),
    ],
    [
      "the daemon's size of shared memory, and its kind of namespaces",
      { own: { ShmSize: 5, IpcMode: 'shareable', CgroupnsMode: 'host' } },
      host({ ShmSize: 5, IpcMode: 'shareable', CgroupnsMode: 'host' }, {}),
    ],
    [
      'what an engine that says nothing may have chosen',
      { own: {}, info: {} },
      host({ ShmSize: 5, Runtime: 'x', LogConfig: { Type: 'local', Config: { a: 'b' } } }, {}),
    ],
  ])('%s', (_, other, [has, would]) => {
    expect(findings(has, would, { defaults: { ...defaults, ...other } })).toEqual([]);
  });

  it('where an older engine is told of further networks later', () => {
    const both = { networks: { svc_default: {}, svc_other: {} } };
    expect(findings(both, {}, { moreNetworks: ['svc_other'] })).toEqual([]);
  });

  it('where nobody can tell any more what the image gave', () => {
    expect(findings({}, {}, { image: null })).toEqual([]);
    const own = { config: env('OWN=1') };
    expect(sentences(findings(own, { config: { Env: ['OWN=2'] } }, { image: null }))).toEqual([
      'environment variable OWN would change',
    ]);
  });
});

describe('a loss', () => {
  const port = (HostIp: string, HostPort: string, target = '80/tcp') => ({
    PortBindings: { [target]: [{ HostIp, HostPort }] },
  });
  const bind = (...Binds: string[]) => ({ Binds });
  const lostPort = 'published port 127.0.0.1:8080:80/tcp would be dropped';

  it.each<[string, [Parts, Parts], string]>([
    [
      'a mount that moves',
      host(bind('/opt/data:/data:rw'), bind('/root/data:/data:rw')),
      'the mount at /data would move from /opt/data to /root/data',
    ],
    [
      'a mount that goes',
      host(bind('/opt/data:/data'), {}),
      'the mount of /opt/data at /data would be dropped',
    ],
    [
      'a volume that changes',
      host(bind('svc_db:/db'), bind('other:/db')),
      'the mount at /db would move from svc_db to other',
    ],
    [
      'a volume in place of a bind',
      host(bind('/opt/db:/db'), bind('db:/db')),
      'the mount at /db would move from /opt/db to db',
    ],
    [
      'an anonymous volume in place of a named one',
      host(bind('db:/db'), { Mounts: [anonymous, { Type: 'volume', Target: '/db' }] }),
      'the mount at /db would move from db to an anonymous volume',
    ],
    [
      'an anonymous volume that goes',
      host(bind('/scratch'), {}),
      'the anonymous volume at /scratch would be dropped',
    ],
    [
      'a mount that may no longer be written',
      host(bind('db:/db:rw'), bind('db:/db:ro')),
      'the mount at /db would become read-only',
    ],
    [
      'a file of a secret that goes',
      host(
        { Mounts: [{ Type: 'bind', Source: '/opt/key', Target: '/run/secrets/key', ReadOnly: true }] },
        {},
      ),
      'the mount of /opt/key at /run/secrets/key would be dropped',
    ],
    [
      'the network of another service',
      [ofMode('service:app'), ofMode('service:worker')],
      'network mode would change from service:app to service:worker',
    ],
    [
      'volumes of another service',
      host({ VolumesFrom: ['service:db'] }, { VolumesFrom: ['service:files'] }),
      'volumes_from would change',
    ],
    [
      'volumes of another container that go',
      host({ VolumesFrom: ['x:rw'] }, {}),
      'volumes_from would be dropped',
    ],
    ['a port that goes', host(port('127.0.0.1', '8080'), {}), lostPort],
    [
      'a network that goes',
      [{ networks: { svc_default: {}, proxy: {} } }, {}],
      'network proxy would be dropped',
    ],
    [
      'a network that goes, with a name, an address and links there',
      [
        {
          networks: {
            svc_default: {},
            proxy: { Aliases: ['www'], Links: ['a:b'] },
          },
        },
        {},
      ],
      'network proxy would be dropped',
    ],
    [
      'a fixed address that goes',
      [{ networks: { svc_default: { IPAMConfig: { IPv4Address: '10.0.0.9' } } } }, {}],
      'network address svc_default would be dropped',
    ],
    [
      'a variable that goes',
      config(env('DB_PASSWORD=secret'), {}),
      'environment variable DB_PASSWORD would be dropped',
    ],
    [
      'a variable that is emptied',
      config(env('DB_PASSWORD=secret'), { Env: ['DB_PASSWORD='] }),
      'environment variable DB_PASSWORD would be emptied',
    ],
    [
      'a variable without a value',
      config(env('DB_PASSWORD=secret'), { Env: ['DB_PASSWORD'] }),
      'environment variable DB_PASSWORD would be dropped',
    ],
  ])('is %s: named, and no value told', (_, [has, would], sentence) => {
    const [first, ...others] = findings(has, would);
    expect([sentences(first ? [first] : []), first?.isLoss, others]).toEqual([[sentence], true, []]);
    expect(first?.sentence).not.toMatch(/secret\b/);
  });

  it.each<[string, [Parts, Parts], string[]]>([
    ['another published port', host(port('127.0.0.1', '8080'), port('127.0.0.1', '8081')), [lostPort]],
    ['another port inside', host(port('127.0.0.1', '8080'), port('127.0.0.1', '8080', '81/tcp')), [lostPort]],
    ['another protocol', host(port('127.0.0.1', '8080'), port('127.0.0.1', '8080', '80/udp')), [lostPort]],
    ['another address', host(port('127.0.0.1', '8080'), port('', '8080')), [lostPort]],
    [
      'a port outside of the range',
      host(port('127.0.0.1', '8080'), port('127.0.0.1', '8000-8010')),
      [lostPort],
    ],
    ["the host's network that goes", [ofMode('host', { host: {} }), {}], ['network mode would be dropped']],
    [
      "the host's network in place of the project's",
      [{}, ofMode('host')],
      ['network svc_default would be dropped'],
    ],
  ])('is %s', (_, [has, would], lost) => {
    expect(sentences(findings(has, would).filter(({ isLoss }) => isLoss))).toEqual(lost);
  });
});

describe('a warning', () => {
  it.each<[string, [Parts, Parts]]>([
    ['environment variable A would change', config(env('A=1'), { Env: ['A=2'] })],
    ['environment variable LANG would change', config({ Env: ['PATH=/bin', 'LANG=de'] }, {})],
    ['environment variable A would be added', config({}, { Env: ['A=2'] })],
    ['label a would be dropped', config({ Labels: { a: '', ...(imageOfRelease.Labels as Json) } }, {})],
    ['label org.example.version would change', config({}, { Labels: { 'org.example.version': '2' } })],
    ['command would change', config({ Cmd: ['a', 'b'] }, { Cmd: ['b', 'a'] })],
    ['entrypoint would change', config({}, { Entrypoint: ['/other'], Cmd: ['serve'] })],
    ['user would change', config({}, { User: 'root' })],
    ['working_dir would change', config({}, { WorkingDir: '/other' })],
    ['hostname would be dropped', config({ Hostname: 'svc' }, {})],
    ['domainname would be added', config({}, { Domainname: 'x' })],
    ['tty would be added', config({}, { Tty: true })],
    ['stdin_open would be dropped', config({ OpenStdin: true }, {})],
    ['stop_signal would change', config({}, { StopSignal: 'SIGHUP' })],
    ['stop_grace_period would change', config({ StopTimeout: 5 }, { StopTimeout: 6 })],
    ['healthcheck would change', config({}, { Healthcheck: { Test: ['NONE'] } })],
    ['expose would change', config({}, { ExposedPorts: { '9000/tcp': {} } })],
    ['cap_add would change', host({ CapAdd: ['A'] }, { CapAdd: ['A', 'B'] })],
    ['cap_drop would be dropped', host({ CapDrop: ['ALL'] }, {})],
    ['init would be added', host({}, { Init: true })],
    ['ipc would be added', host({ IpcMode: '' }, { IpcMode: 'host' })],
    ['ipc would be dropped', host({ IpcMode: 'host' }, {})],
    ['pid would be dropped', host({ PidMode: 'host' }, {})],
    ['pid would change', host({ PidMode: 'service:db' }, { PidMode: 'service:app' })],
    ['ipc would change', host({ IpcMode: 'shareable' }, {})],
    ['container_name would change from chosen to svc-app', [{ name: 'chosen' }, {}]],
    ['cgroup would change', host({}, { CgroupnsMode: 'host' })],
    ['userns_mode would be dropped', host({ UsernsMode: 'host' }, {})],
    ['uts would be dropped', host({ UTSMode: 'host' }, {})],
    ['read_only would be dropped', host({ ReadonlyRootfs: true }, {})],
    ['privileged would be dropped', host({ Privileged: true }, {})],
    ['runtime would change', host({}, { Runtime: 'nvidia' })],
    ['runtime would change', host({ Runtime: 'nvidia' }, {})],
    ['restart would be dropped', host({ RestartPolicy: { Name: 'always' } }, {})],
    ['sysctls net.a would change', host({ Sysctls: { 'net.a': '1' } }, { Sysctls: { 'net.a': '2' } })],
    ['storage_opt size would be dropped', host({ StorageOpt: { size: '1G' } }, {})],
    ['annotations a would be added', host({}, { Annotations: { a: 'b' } })],
    ['dns would change', host({ Dns: ['1.1.1.1'] }, { Dns: ['9.9.9.9'] })],
    ['dns_search would be dropped', host({ DnsSearch: ['a'] }, {})],
    ['dns_opt would be added', host({}, { DnsOptions: ['ndots:1'] })],
    ['extra_hosts a would change', host({ ExtraHosts: ['a:1.1.1.1'] }, { ExtraHosts: ['a:2.2.2.2'] })],
    ['security_opt would be dropped', host({ SecurityOpt: ['seccomp=unconfined'] }, {})],
    ['security_opt would be added', host({}, { MaskedPaths: [] })],
    ['security_opt would be dropped', host({ MaskedPaths: [] }, {})],
    ['security_opt would be dropped', host({ SecurityOpt: ['label=disable'] }, {})],
    ['privileged would be dropped', host({ Privileged: true, SecurityOpt: ['label=disable'] }, {})],
    ['group_add would be dropped', host({ GroupAdd: ['5'] }, {})],
    ['oom_score_adj would change', host({ OomScoreAdj: 1 }, { OomScoreAdj: 2 })],
    ['logging would change', host({}, { LogConfig: { Type: 'syslog', Config: {} } })],
    ['logging would change', host({ LogConfig: { Type: 'syslog', Config: {} } }, {})],
    [
      'logging options max-file would be dropped',
      host({ LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '3' } } }, {}),
    ],
    [
      'logging options max-size would change',
      host(
        { LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } } },
        { LogConfig: { Type: 'json-file', Config: { 'max-size': '2m' } } },
      ),
    ],
    ['tmpfs /run would be dropped', host({ Tmpfs: { '/run': '' } }, {})],
    [
      'devices /dev/b would change',
      host(
        { Devices: [{ PathOnHost: '/dev/a', PathInContainer: '/dev/b' }] },
        { Devices: [{ PathOnHost: '/dev/c', PathInContainer: '/dev/b' }] },
      ),
    ],
    ['device_cgroup_rules would be dropped', host({ DeviceCgroupRules: ['c 1:3 mr'] }, {})],
    [
      'gpus would be dropped',
      host({ DeviceRequests: [{ Driver: 'nvidia', Count: -1, Capabilities: [['gpu']] }] }, {}),
    ],
    ['mem_limit would change', host({ Memory: 5, MemorySwap: 10 }, { Memory: 6 })],
    ['memswap_limit would change', host({ MemorySwap: 10 }, { MemorySwap: 11 })],
    ['memswap_limit would change', host({ Memory: 5, MemorySwap: 7 }, { Memory: 5 })],
    ['mem_limit would be added', host({}, { Memory: 6, MemorySwap: 0 })],
    ['cpu_shares would be added', host({}, { CpuShares: 6 })],
    ['mem_reservation would be dropped', host({ MemoryReservation: 5 }, {})],
    ['mem_swappiness would change', host({ MemorySwappiness: 5 }, { MemorySwappiness: 6 })],
    ['oom_kill_disable would be dropped', host({ OomKillDisable: true }, {})],
    ['cpus would change', host({ NanoCpus: 5 }, { NanoCpus: 6 })],
    ['cpu_shares would change', host({ CpuShares: 5 }, { CpuShares: 6 })],
    ['cpu_period would change', host({ CpuPeriod: 5 }, { CpuPeriod: 6 })],
    ['cpu_quota would change', host({ CpuQuota: 5 }, { CpuQuota: 6 })],
    ['cpu_rt_period would be dropped', host({ CpuRealtimePeriod: 5 }, {})],
    ['cpu_rt_runtime would be dropped', host({ CpuRealtimeRuntime: 5 }, {})],
    ['cpuset would change', host({ CpusetCpus: '0' }, { CpusetCpus: '1' })],
    ['pids_limit would change', host({ PidsLimit: 5 }, { PidsLimit: 6 })],
    ['blkio_config would be dropped', host({ BlkioWeight: 300 }, {})],
    ['shm_size would change', host({}, { ShmSize: 5 })],
    ['shm_size would change', host({ ShmSize: 5 }, {})],
    ['cgroup_parent would be dropped', host({ CgroupParent: '/x' }, {})],
    [
      'ulimits core would change',
      host(
        { Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }] },
        { Ulimits: [{ Name: 'core', Soft: 1, Hard: 1 }] },
      ),
    ],
    [
      'ulimits nproc would be dropped',
      host(
        {
          Ulimits: [
            { Name: 'nproc', Soft: 5, Hard: 5 },
            { Name: 'nofile', Soft: 1, Hard: 2 },
          ],
        },
        {},
      ),
    ],
    ['ulimits nofile would be dropped', host({ Ulimits: [{ Name: 'nofile', Soft: 5, Hard: 5 }] }, {})],
    ['volume_driver would be dropped', host({ VolumeDriver: 'x' }, {})],
    [
      'volume options /a would be added',
      host({ Binds: ['a:/a'] }, { Binds: ['a:/a:z'], Mounts: [anonymous] }),
    ],
    ['a mount at /new would be added', host({}, { Binds: ['new:/new'], Mounts: [anonymous] })],
    [
      'published port 80:80/tcp would be added',
      host({}, { PortBindings: { '80/tcp': [{ HostPort: '80' }] } }),
    ],
    ['network other would be added', [{}, { networks: { svc_default: {}, other: {} } }]],
    ['network aliases svc_default would change', [aliases('a', 'b'), aliases('a')]],
    [
      'network options svc_default would be added',
      [{}, { networks: { svc_default: { DriverOpts: { a: 'b' } } } }],
    ],
    [
      'links svc_default would change',
      [
        { networks: { svc_default: { Links: ['svc-db-1:database'] } } },
        { networks: { svc_default: { Links: ['svc-db-1:store'] } } },
      ],
    ],
    [
      'links svc_default would be added',
      [{}, { networks: { svc_default: { Links: ['svc-db-1:db', 'svc-db-1:database'] } } }],
    ],
  ])('is %s', (sentence, [has, would]) => {
    const found = findings(has, would);
    expect([sentences(found), found.some(({ isLoss }) => isLoss)]).toEqual([[sentence], false]);
  });
});

describe('what helps', () => {
  const difference = { section: 'labels', item: 'a', running: '"1"', planned: '"2"' };
  const envFile = '/opt/svc/.env';
  const gone = { ...difference, section: 'environment', item: 'HTTPS_PROXY', planned: null };
  const facts = { unset: [], texts: ['written'], home: '/root' };
  const mount = (source: string) => JSON.stringify({ type: 'bind', source });

  it.each([
    [
      'a line for .env, for any key whose text a shell had a part in',
      difference,
      { ...facts, unset: ['SITE'] },
      'Add SITE=… to /opt/svc/.env, with what the shell had that started the instance.',
    ],
    [
      "a line for .env, or one's own edit of the default",
      difference,
      { ...facts, unset: ['SITE'], texts: [`\${SITE:-main}`] },
      'Where no shell had it, and its default was edited since, run docker compose up -d first.',
    ],
    [
      'the home',
      { ...difference, section: 'volumes', running: mount('/home/me/x'), planned: mount('/root/x') },
      facts,
      'Add -e HOME=… to the docker run command',
    ],
    [
      'the home, as a variable',
      difference,
      { ...facts, unset: ['HOME'] },
      'Add -e HOME=… to the docker run command',
    ],
    [
      'the config.json with the proxies',
      gone,
      { ...facts, texts: [] },
      'Mount the config.json that has the proxies',
    ],
    ["one's own proxies", gone, facts, 'Apply your own edits with docker compose up -d first.'],
    [
      'a network in the file',
      { ...difference, section: 'networks', item: 'proxy', planned: null },
      facts,
      'Name proxy in the compose file where it was joined by hand',
    ],
    [
      "one's own edit",
      { ...difference, section: 'ports', planned: null },
      facts,
      'Apply your own edits with docker compose up -d first.',
    ],
  ])('is %s', (_, given, known, advice) => {
    const { isLoss, remedy } = judgeDifference('app', given, known);
    expect(isLoss).toBe(true);
    expect(adviceFor([remedy], envFile)).toContain(advice);
    expect(adviceFor([remedy], envFile)).toContain('--accept-drift goes on regardless.');
  });

  it('is told once for all that it helps', () => {
    const remedy = { kind: 'set', variables: ['A', 'B'], hasDefault: false } as const;
    const advice = adviceFor([remedy, { ...remedy, variables: ['B'] }], envFile);
    expect(advice).toContain('Add A=…, B=… to /opt/svc/.env');
    expect(advice).not.toContain('up -d');
  });
});

it('takes along the volumes that the image asks for, beside those that somebody has named', () => {
  const more = { Type: 'volume', Source: 'more', Target: '/more/' };
  const HostConfig = { Binds: ['data:/data/:z', '/anonymous'], Mounts: [more], Tmpfs: { '/tmp/': '' } };
  const Mounts = ['/data', '/anonymous', '/more', '/tmp', '/cache'].map((Destination) => ({
    ...{ Type: 'volume', Name: 'a', Destination, RW: true },
  }));
  const { hostConfig } = runningDefinition({ Id: id, Name: '/svc-app-1', HostConfig, Mounts }, []);
  const ofImage = { Type: 'volume', Source: 'a', Target: '/cache', ReadOnly: false };
  expect(hostConfig.Mounts).toEqual([more, ofImage]);
});
