import { type Json, list, object, strings } from '../../engine/json.ts';
import { toolLabels } from '../../engine/labels.ts';
import { type Definition, withoutNumber } from './definition.ts';

/**
 * What a container is given, in the words of a compose file: by section, then by item (`''` where the section is one
 * value), as a text that can be compared. What is not given, and what amounts to nothing (no, 0, an empty list), has no
 * item; nor has what only names the same in another way.
 */
export type Shape = ReadonlyMap<string, ReadonlyMap<string, string>>;

type Items = Readonly<Record<string, unknown>>;
type Section = readonly [name: string, items: Items];

export function shapeOf(definition: Definition): Shape {
  const sections = [
    ...configSections(definition),
    ...hostSections(definition.hostConfig),
    ...limitSections(definition.hostConfig),
    ...networkSections(definition),
  ];
  return new Map(
    sections.map(([name, items]) => [
      name,
      new Map(
        Object.entries(items).flatMap(([item, value]) => (isNothing(value) ? [] : [[item, text(value)]])),
      ),
    ]),
  );
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === 0 ||
  value === '' ||
  (typeof value === 'object' && Object.values(value).every(isNothing) && !Array.isArray(value)) ||
  (Array.isArray(value) && value.length === 0);

/** The same for the same, in whatever order the keys come. */
function text(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value, (_, each) =>
    each !== null && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(
          Object.entries(each)
            .filter(([, inner]) => !isNothing(inner))
            .sort(),
        )
      : each,
  );
}

const one = (value: unknown): Items => ({ '': value });
const set = (values: readonly string[]): Items => one([...new Set(values)].sort());

function configSections({ name, config, hostConfig, shortId }: Definition): Section[] {
  const { Env, Labels, Healthcheck, ExposedPorts, Hostname, WorkingDir, StopSignal } = config;
  const ports = Object.keys(object(hostConfig.PortBindings));
  const labels = Object.entries(object(Labels)).filter(
    ([key]) => !toolLabels.some((beginning) => key.startsWith(beginning)),
  );
  return [
    ['container_name', one(name)],
    // An empty value is one, too: a label without a value, a variable that is set to nothing.
    ['environment', quoted(environment(Env))],
    ['labels', quoted(labels as [string, string][])],
    ['command', one(config.Cmd)],
    ['entrypoint', one(config.Entrypoint)],
    ['user', one(config.User)],
    ['working_dir', one(String(WorkingDir ?? '').replace(/\/+$/, ''))],
    ['hostname', one(Hostname === shortId ? '' : Hostname)],
    ['domainname', one(config.Domainname)],
    ['tty', one(config.Tty)],
    ['stdin_open', one(config.OpenStdin)],
    ['stop_signal', one(String(StopSignal ?? '').replace(/^(SIG)?TERM$/, ''))],
    ['stop_grace_period', one(config.StopTimeout)],
    ['healthcheck', one(Healthcheck)],
    ['expose', set(Object.keys(object(ExposedPorts)).filter((port) => !ports.includes(port)))],
  ];
}

const quoted = (entries: readonly (readonly [string, string])[]): Items =>
  Object.fromEntries(entries.map(([key, value]) => [key, JSON.stringify(value)]));

/** Variables with a value; a key alone takes one of the image away. */
export const environment = (env: unknown): [string, string][] =>
  strings(env).flatMap((entry): [string, string][] => {
    const at = entry.indexOf('=');
    return at < 0 ? [] : [[entry.slice(0, at), entry.slice(at + 1)]];
  });

function hostSections(host: Json): Section[] {
  const { RestartPolicy, LogConfig, MaskedPaths, Devices, Tmpfs, Runtime } = host;
  const restart = object(RestartPolicy);
  const log = object(LogConfig);
  const capability = (name: string) => name.toUpperCase().replace(/^CAP_/, '');
  const isUnconfined = Array.isArray(MaskedPaths) && MaskedPaths.length === 0;
  return [
    ['cap_add', set(strings(host.CapAdd).map(capability))],
    ['cap_drop', set(strings(host.CapDrop).map(capability))],
    ['init', one(host.Init)],
    ['ipc', one(host.IpcMode)],
    ['pid', one(host.PidMode)],
    ['cgroup', one(host.CgroupnsMode)],
    ['userns_mode', one(host.UsernsMode)],
    ['uts', one(host.UTSMode)],
    ['read_only', one(host.ReadonlyRootfs)],
    ['privileged', one(host.Privileged)],
    ['runtime', one(Runtime)],
    ['isolation', one(host.Isolation === 'default' ? '' : host.Isolation)],
    ['restart', one(restart.Name === 'no' ? '' : restart)],
    ['sysctls', object(host.Sysctls)],
    ['storage_opt', object(host.StorageOpt)],
    ['annotations', object(host.Annotations)],
    ['dns', set(strings(host.Dns))],
    ['dns_search', set(strings(host.DnsSearch))],
    ['dns_opt', set(strings(host.DnsOptions))],
    ['extra_hosts', hosts(strings(host.ExtraHosts))],
    [
      'security_opt',
      set([
        ...strings(host.SecurityOpt).map(securityOption),
        ...(isUnconfined && host.Privileged !== true ? ['systempaths=unconfined'] : []),
      ]),
    ],
    ['group_add', set(strings(host.GroupAdd))],
    ['oom_score_adj', one(host.OomScoreAdj)],
    ['volume_driver', one(host.VolumeDriver)],
    ['volumes_from', set(strings(host.VolumesFrom))],
    ['logging', one(log.Type)],
    ['logging options', object(log.Config)],
    ['tmpfs', Object.fromEntries(Object.entries(object(Tmpfs)).map(tmpfs))],
    [
      'devices',
      Object.fromEntries(
        (list(Devices) as Json[]).map(({ PathOnHost, PathInContainer, CgroupPermissions }) => [
          String(PathInContainer),
          `${PathOnHost} ${[...String(CgroupPermissions || 'rwm')].sort().join('')}`,
        ]),
      ),
    ],
    ['device_cgroup_rules', set(strings(host.DeviceCgroupRules))],
    ['gpus', set((list(host.DeviceRequests) as Json[]).map(text))],
  ];
}

/** `host:ip`, in older and newer spelling; a host may have several addresses. */
function hosts(entries: readonly string[]): Items {
  const byName = Map.groupBy(entries, (entry) => entry.split(/[:=]/)[0] ?? '');
  return Object.fromEntries(
    [...byName].map(([name, same]) => [
      name,
      same.map((entry) => entry.slice(name.length + 1).replace(/^\[(.*)\]$/, '$1')).sort(),
    ]),
  );
}

const securityOption = (option: string): string =>
  option === 'no-new-privileges'
    ? 'no-new-privileges=true'
    : option.replace(/^(label|apparmor|seccomp|no-new-privileges):/, '$1=');

const tmpfs = ([target, options]: [string, unknown]): [string, string] => [
  target,
  `tmpfs ${String(options ?? '')
    .split(',')
    .filter(Boolean)
    .sort()
    .join()}`,
];

/** What a kernel may not have; the engine then drops it with a warning. */
export const limits = [
  ['mem_limit', 'Memory'],
  ['memswap_limit', 'MemorySwap'],
  ['mem_swappiness', 'MemorySwappiness'],
  ['mem_reservation', 'MemoryReservation'],
  ['oom_kill_disable', 'OomKillDisable'],
  ['cpus', 'NanoCpus'],
  ['cpu_shares', 'CpuShares'],
  ['cpu_period', 'CpuPeriod'],
  ['cpu_quota', 'CpuQuota'],
  ['cpu_rt_period', 'CpuRealtimePeriod'],
  ['cpu_rt_runtime', 'CpuRealtimeRuntime'],
  ['cpu_count', 'CpuCount'],
  ['cpu_percent', 'CpuPercent'],
  ['cpuset', 'CpusetCpus'],
  ['pids_limit', 'PidsLimit'],
] as const;

function limitSections(host: Json): Section[] {
  const { Ulimits, ShmSize, CgroupParent } = host;
  const blkio = Object.entries(host).filter(([key]) => key.startsWith('Blkio'));
  return [
    ...limits.map(([name, key]): Section => [name, one(host[key] === -1 ? null : host[key])]),
    ['blkio_config', one(Object.fromEntries(blkio.filter(([, value]) => !isNothing(value))))],
    ['shm_size', one(ShmSize)],
    ['cgroup_parent', one(CgroupParent)],
    [
      'ulimits',
      Object.fromEntries(
        (list(Ulimits) as Json[]).map(({ Name, Soft, Hard }) => [String(Name), `${Soft}:${Hard}`]),
      ),
    ],
    ['volumes', Object.fromEntries(mounts(host).map(({ target, mount }) => [target, mount]))],
    [
      'volume options',
      Object.fromEntries(mounts(host).map(({ target, options }) => [target, options.sort()])),
    ],
    ['ports', Object.fromEntries(publishedPorts(host).map((port) => [port, 'published']))],
  ];
}

function networkSections({ config, hostConfig, networks, ownNames }: Definition): Section[] {
  const mode = String(hostConfig.NetworkMode ?? '');
  const isShared = /^(container|service):/.test(mode);
  const joined = Object.entries(isShared ? {} : networks).filter(
    ([name]) => !['host', 'none'].includes(name),
  );
  const by = (read: (endpoint: Json) => unknown): Items =>
    Object.fromEntries(joined.map(([name, endpoint]) => [name, read(endpoint)]));
  const isOfProject = !isShared && !['host', 'none', 'bridge', 'default', ''].includes(mode);
  return [
    ['network_mode', one(isOfProject || mode === '' ? '' : mode === 'default' ? 'bridge' : mode)],
    ['networks', by(() => 'joined')],
    ['network address', by(({ IPAMConfig }) => IPAMConfig)],
    [
      'network aliases',
      by(({ Aliases }) =>
        strings(Aliases)
          .filter((alias) => !ownNames.includes(alias))
          .sort(),
      ),
    ],
    ['network options', by(({ DriverOpts, GwPriority }) => ({ DriverOpts, GwPriority }))],
    ['links', by(({ Links }) => [...new Set(strings(Links).map(withoutNumber))].sort())],
    ['mac_address', { ...by(({ MacAddress }) => MacAddress), '': config.MacAddress }],
  ];
}

/** What is given at a mount's target, as the shape's section `volumes` has it in JSON. */
export interface ShapedMount {
  type: string;
  /** A host path, or a volume's name; empty for an anonymous volume, whose data compose takes along. */
  source: string;
  readOnly: boolean;
}

/** The engine gives it 64 hex digits. */
const anonymous = /^[0-9a-f]{64}$/;

/** Named volumes stand in `Binds` or in `Mounts`, by the version of compose. */
export function mounts(host: Json): { target: string; mount: ShapedMount; options: string[] }[] {
  const plain = new Set(['rw', 'ro', '', 'rprivate']);
  const binds = strings(host.Binds).map((bind) => {
    const [first = '', second, mode = ''] = bind.split(':');
    const [source, target] = second === undefined ? ['', first] : [first, second];
    const words = mode.split(',');
    const mount = shaped(source.startsWith('/') ? 'bind' : 'volume', source, words.includes('ro'));
    return { target: clean(target), mount, options: words.filter((word) => !plain.has(word)) };
  });
  const others = (list(host.Mounts) as Json[]).map((each) => {
    const { Type, Source, Target, ReadOnly, BindOptions, VolumeOptions, TmpfsOptions } = each;
    const { Propagation, NonRecursive, ReadOnlyNonRecursive, ReadOnlyForceRecursive } = object(BindOptions);
    const { NoCopy, Subpath } = object(VolumeOptions);
    const { SizeBytes, Mode } = object(TmpfsOptions);
    const options = [
      ...(plain.has(String(Propagation ?? '')) ? [] : [String(Propagation)]),
      ...(NonRecursive ? ['non-recursive'] : []),
      ...(ReadOnlyNonRecursive ? ['writable below'] : []),
      ...(ReadOnlyForceRecursive ? ['read-only below'] : []),
      ...(NoCopy ? ['nocopy'] : []),
      ...(Subpath ? [`subpath ${Subpath}`] : []),
      ...(SizeBytes ? [`size ${SizeBytes}`] : []),
      ...(Mode ? [`mode ${Mode}`] : []),
    ];
    const mount = shaped(String(Type), String(Source ?? ''), Boolean(ReadOnly));
    return { target: clean(String(Target)), mount, options };
  });
  return [...binds, ...others];
}

const clean = (path: string): string => path.replace(/(?<=.)\/+$/, '');

const shaped = (type: string, source: string, readOnly: boolean): ShapedMount => ({
  type,
  source: type === 'volume' && anonymous.test(source) ? '' : clean(source),
  readOnly,
});

const anyAddress = new Set(['', '0.0.0.0', '::']);

/** `127.0.0.1:80:8080/tcp`; a port that the engine chooses is `0`. */
export function publishedPorts(host: Json): string[] {
  return Object.entries(object(host.PortBindings)).flatMap(([target, bindings]) =>
    (list(bindings) as Json[]).map(({ HostIp, HostPort }) => {
      const address = anyAddress.has(String(HostIp ?? '')) ? '' : `${HostIp}:`;
      return `${address}${HostPort || 0}:${target}`;
    }),
  );
}

/** What recreating a container would change. Holds values: never log them. */
export interface Difference {
  /** Of the compose file: `environment`, `volumes`, `cap_add`. */
  section: string;
  /** `''` where the section is one value. */
  item: string;
  /** What the container has; null where it is new. */
  running: string | null;
  /** What it would be given; null where it goes. */
  planned: string | null;
}

export function findDifferences(running: Shape, planned: Shape): Difference[] {
  const differences: Difference[] = [];
  for (const section of new Set([...running.keys(), ...planned.keys()])) {
    const [now, then] = [running.get(section) ?? new Map(), planned.get(section) ?? new Map()];
    for (const item of new Set<string>([...now.keys(), ...then.keys()])) {
      const pair = { running: now.get(item) ?? null, planned: then.get(item) ?? null };
      if (pair.running !== pair.planned) differences.push({ section, item, ...pair });
    }
  }
  return withinNetworks(withoutChosenPorts(differences));
}

/** By the name of a network, too. */
const ofNetwork = new Set(['network address', 'network aliases', 'network options', 'links', 'mac_address']);

/** Where a network comes or goes, what the container has there goes with it, and is not told by itself. */
function withinNetworks(differences: readonly Difference[]): Difference[] {
  const others = new Set(differences.filter(({ section }) => section === 'networks').map(({ item }) => item));
  return differences.filter(({ section, item }) => !ofNetwork.has(section) || !others.has(item));
}

/** A port that compose took out of a published range. */
function withoutChosenPorts(differences: readonly Difference[]): Difference[] {
  const ports = differences.filter(({ section }) => section === 'ports');
  const chosen = new Set<Difference>();
  for (const now of ports.filter(({ running }) => running !== null)) {
    const then = ports.find(({ planned, item }) => planned !== null && isChosenFrom(now.item, item));
    if (then) chosen.add(now).add(then);
  }
  return differences.filter((each) => !chosen.has(each));
}

const publishedPort = /^(?:(.*):)?([\d-]+):([^:]+)$/;

function isChosenFrom(port: string, range: string): boolean {
  const [, address, published, target] = publishedPort.exec(port) ?? [];
  const [, otherAddress, otherPublished = '', otherTarget] = publishedPort.exec(range) ?? [];
  const [from, to] = otherPublished.split('-').map(Number);
  if (to === undefined || address !== otherAddress || target !== otherTarget) return false;
  return Number(published) >= (from ?? 0) && Number(published) <= to;
}
