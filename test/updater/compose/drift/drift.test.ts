import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/engine/objects/json.ts';
import {
  buildPlannedDefinition,
  type PlannedDefinitionSources,
  parseRunningDefinition,
} from '../../../../src/updater/compose/drift/build-definitions.ts';
import type { EngineDefaults } from '../../../../src/updater/compose/drift/engine-defaults.ts';
import {
  type DriftFinding,
  evaluateDefinitionDifference,
  formatDriftAdvice,
} from '../../../../src/updater/compose/drift/evaluate-changes.ts';
import {
  type DriftDefinition,
  findDefinitionDifferences,
} from '../../../../src/updater/compose/drift/find-differences.ts';

// Compares a container with the request that compose would send for it, for each key of the compose specification.
// test/e2e/drift.test.ts verifies this form of the data with a real compose and engine; it also has a row for each key.

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

/** Response of `inspect` for a container that has only values from the image and defaults of the engine. */
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

/** The request that compose sends for a service that specifies only its image. */
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

/** An engine that supports all limits, and has defaults for swap, log options and ulimits. */
const defaults: EngineDefaults = {
  ownHostConfig: {
    IpcMode: 'private',
    CgroupnsMode: 'private',
    ShmSize: 67108864,
    LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
    Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }],
  },
  engineInfo: {
    ...{ LoggingDriver: 'json-file', DefaultRuntime: 'runc', CgroupVersion: '2', MemoryLimit: true },
    ...{ SwapLimit: true, CpuCfsQuota: true, CpuCfsPeriod: true, CPUShares: true, CPUSet: true },
    ...{ PidsLimit: true, OomKillDisable: true },
  },
  isPodman: false,
};

function findings(has: Parts, would: Parts, given: Partial<PlannedDefinitionSources> = {}): DriftFinding[] {
  const running: DriftDefinition = parseRunningDefinition(inspected(has), ['app', 'svc-app-1']);
  const besides = { imageConfig: imageOfRelease, moreNetworks: [], defaults, ...given };
  const planned = buildPlannedDefinition(
    { name: would.name ?? 'svc-app-1', body: sent(would) },
    running,
    besides,
  );
  const differences = findDefinitionDifferences(running, planned);
  return differences.map((difference) => evaluateDefinitionDifference('app', difference, nothingUnset));
}

const sentences = (found: readonly DriftFinding[]) =>
  found.map((finding) => (finding.isLoss ? finding.sentence.replace('app: ', '') : `edit of ${finding.key}`));

const host = (has: Json, would: Json): [Parts, Parts] => [{ host: has }, { host: would }];
const config = (has: Json, would: Json): [Parts, Parts] => [{ config: has }, { config: would }];
const anonymous = { Type: 'volume', Source: hex, Target: '/cache' };
const env = (...mine: string[]) => ({ Env: [...mine, 'PATH=/bin', 'LANG=C'] });
const ofMode = (mode: string, networks = {}): Parts => ({ host: { NetworkMode: mode }, networks });
const joined = (endpoint: Json): Parts => ({ networks: { svc_default: endpoint } });
const logged = (Config: Json): Json => ({ LogConfig: { Type: 'json-file', Config } });

describe('no difference', () => {
  it.each<[string, [Parts, Parts]]>([
    ['a variable that is taken from the image', config({ Env: ['PATH=/bin', 'LANG'] }, { Env: ['LANG'] })],
    [
      'an entrypoint that leaves no command',
      config({ Entrypoint: ['/other'], Cmd: null }, { Entrypoint: ['/other'] }),
    ],
    [
      'a limit of which the engine does not say whether its kernel knows it',
      host({ MemorySwappiness: null, BlkioWeight: 0 }, { MemorySwappiness: 5, BlkioWeight: 300 }),
    ],
    [
      "the daemon's log options",
      host(logged({ 'max-size': '1m', 'max-file': '3' }), logged({ 'max-file': '3' })),
    ],
    [
      'an address that the swarm chose',
      [joined({ NetworkID: 'q1w2e3r4t5y6u7i8o9p0a1s2d', IPAMConfig: { IPv4Address: '10.0.1.5' } }), {}],
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
      "the app's host name, of one that has left its network",
      [
        { host: { NetworkMode: 'service:app' }, config: { Hostname: 'svc' } },
        { host: { NetworkMode: 'service:app' } },
      ],
    ],
    [
      'a mounted image, which compose 5.4 sends by its id and compose 5.5 by its name',
      host(
        { Mounts: [anonymous, { Type: 'image', Source: 'acme/assets:v1.0.0', Target: '/assets' }] },
        { Mounts: [anonymous, { Type: 'image', Source: `sha256:${id}`, Target: '/assets' }] },
      ),
    ],
    ["the host's network", [ofMode('host', { host: {} }), ofMode('host')]],
  ])('is found for %s', (_, [has, would]) => {
    expect(findings(has, would)).toEqual([]);
  });

  it.each<[string, Partial<EngineDefaults>, [Parts, Parts]]>([
    [
      'a limit that the kernel does not know',
      { engineInfo: {} },
      host({ Memory: 0, MemorySwap: -1, CpuShares: 0 }, { Memory: 100, MemorySwap: 200, CpuShares: 5 }),
    ],
    [
      "the daemon's log driver and runtime",
      { engineInfo: { LoggingDriver: 'journald', DefaultRuntime: 'nvidia' } },
      host({ LogConfig: { Type: 'journald', Config: { tag: 'x' } }, Runtime: 'nvidia' }, {}),
    ],
    [
      "the daemon's size of shared memory, and its kind of namespaces",
      { ownHostConfig: { ShmSize: 5, IpcMode: 'shareable', CgroupnsMode: 'host' } },
      host({ ShmSize: 5, IpcMode: 'shareable', CgroupnsMode: 'host' }, {}),
    ],
    [
      'what an engine that says nothing may have chosen',
      { ownHostConfig: {}, engineInfo: {} },
      host({ ShmSize: 5, Runtime: 'x', LogConfig: { Type: 'local', Config: { a: 'b' } } }, {}),
    ],
  ])('is found with other engine defaults for %s', (_, other, [has, would]) => {
    expect(findings(has, would, { defaults: { ...defaults, ...other } })).toEqual([]);
  });

  it('is found for networks that compose connects after the creation on an older engine', () => {
    const both = { networks: { svc_default: {}, svc_other: {} } };
    expect(findings(both, {}, { moreNetworks: ['svc_other'] })).toEqual([]);
  });

  it('is found for values that may come from a missing image', () => {
    expect(findings({}, {}, { imageConfig: null })).toEqual([]);
    const own = { config: env('OWN=1') };
    expect(sentences(findings(own, { config: { Env: ['OWN=2'] } }, { imageConfig: null }))).toEqual([
      'edit of environment variable OWN',
    ]);
  });
});

describe('a loss', () => {
  const port = (HostIp: string, HostPort: string, target = '80/tcp') => ({
    PortBindings: { [target]: [{ HostIp, HostPort }] },
  });
  const bind = (...Binds: string[]) => ({ Binds });
  const lostPort = 'published port 127.0.0.1:8080:80/tcp would be removed';

  it.each<[string, [Parts, Parts], string]>([
    [
      'an anonymous volume in place of a named one',
      host(bind('db:/db'), { Mounts: [anonymous, { Type: 'volume', Target: '/db' }] }),
      'the source of the mount at /db would change from db to an anonymous volume',
    ],
    [
      'an anonymous volume that goes',
      host(bind('/scratch'), {}),
      'the anonymous volume at /scratch would be removed',
    ],
    [
      'a mount that may no longer be written',
      host(bind('db:/db:rw'), bind('db:/db:ro')),
      'the mount at /db would become read-only',
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
      'network proxy would be removed',
    ],
    [
      'a variable that is emptied',
      config(env('DB_PASSWORD=secret'), { Env: ['DB_PASSWORD='] }),
      'environment variable DB_PASSWORD would be set to an empty value',
    ],
  ])('is %s, reported without secret values', (_, [has, would], sentence) => {
    const [first, ...others] = findings(has, would);
    expect([sentences(first ? [first] : []), first?.isLoss, others]).toEqual([[sentence], true, []]);
    expect(JSON.stringify(first)).not.toMatch(/secret\b/);
  });

  it.each<[string, [Parts, Parts], string[]]>([
    ['another published port', host(port('127.0.0.1', '8080'), port('127.0.0.1', '8081')), [lostPort]],
    ["the host's network that goes", [ofMode('host', { host: {} }), {}], ['network mode would be removed']],
    [
      "the host's network in place of the project's",
      [{}, ofMode('host')],
      ['network svc_default would be removed'],
    ],
  ])('is %s', (_, [has, would], lost) => {
    expect(sentences(findings(has, would).filter(({ isLoss }) => isLoss))).toEqual(lost);
  });
});

describe('a warning', () => {
  it.each<[string, [Parts, Parts]]>([
    ['privileged', host({ Privileged: true }, {})],
    ['runtime', host({ Runtime: 'nvidia' }, {})],
    ['security_opt', host({}, { MaskedPaths: [] })],
    ['security_opt', host({ MaskedPaths: [] }, {})],
    ['mem_limit', host({}, { Memory: 6, MemorySwap: 0 })],
  ])('is given for an edit of %s', (key, [has, would]) => {
    expect(sentences(findings(has, would))).toEqual([`edit of ${key}`]);
  });
});

describe('the advice for a loss', () => {
  const difference = { section: 'labels', item: 'a', running: '"1"', planned: '"2"' };
  const envFile = '/opt/svc/.env';
  const mount = (source: string) => JSON.stringify({ type: 'bind', source });

  it.each([
    [
      'a line for .env, for any key whose text a shell had a part in',
      difference,
      { ...nothingUnset, unset: ['SITE'] },
      'Add SITE=… to /opt/svc/.env, using the values from the shell in which the app was started.',
    ],
    [
      "a line for .env, or one's own edit of the default",
      difference,
      { ...nothingUnset, unset: ['SITE'], texts: [`\${SITE:-main}`] },
      'If the variable was never set in a shell but its default value was edited in a file, run {up} first.',
    ],
    [
      'the home',
      { ...difference, section: 'volumes', running: mount('/home/me/x'), planned: mount('/root/x') },
      nothingUnset,
      'add -e HOME=… to the docker run command',
    ],
    [
      "one's own proxies",
      { ...difference, section: 'environment', item: 'HTTPS_PROXY', planned: null },
      nothingUnset,
      'Apply your own edits with {up} first.',
    ],
  ])('suggests %s', (_, given, known, advice) => {
    const finding = evaluateDefinitionDifference('app', given, known);
    const remedy = finding.isLoss ? finding.remedy : null;
    if (remedy === null) throw new Error('it is no loss');
    expect(formatDriftAdvice([remedy], envFile)).toContain(advice);
    expect(formatDriftAdvice([remedy], envFile)).toContain('To update anyway, use --accept-drift.');
  });

  it('lists each variable once', () => {
    const remedy = { kind: 'set', variables: ['A', 'B'], hasDefault: false } as const;
    const advice = formatDriftAdvice([remedy, { ...remedy, variables: ['B'] }], envFile);
    expect(advice).toContain('Add A=…, B=… to /opt/svc/.env');
    expect(advice).not.toContain('up -d');
  });
});

it('parseRunningDefinition adds the volumes that the image declares to those of the container', () => {
  const more = { Type: 'volume', Source: 'more', Target: '/more/' };
  const HostConfig = { Binds: ['data:/data/:z', '/anonymous'], Mounts: [more], Tmpfs: { '/tmp/': '' } };
  const Mounts = ['/data', '/anonymous', '/more', '/tmp', '/cache'].map((Destination) => ({
    ...{ Type: 'volume', Name: 'a', Destination, RW: true },
  }));
  const { hostConfig } = parseRunningDefinition({ Id: id, Name: '/svc-app-1', HostConfig, Mounts }, []);
  const ofImage = { Type: 'volume', Source: 'a', Target: '/cache', ReadOnly: false };
  expect(hostConfig.Mounts).toEqual([more, ofImage]);
});
