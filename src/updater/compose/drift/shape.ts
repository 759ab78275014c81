import { environment } from '../../../engine/container.ts';
import { type Json, list, object, strings } from '../../../engine/json.ts';
import { toolLabels } from '../../../engine/labels.ts';

/** A container as the engine reports it, or as compose would create it. */
export interface Definition {
  /** Without a number behind it, which each container of a service has. */
  name: string;
  config: Json;
  hostConfig: Json;
  /** By network name. */
  networks: Readonly<Record<string, Json>>;
  /** Its id's first 12 digits, which are its host name where it was given none. */
  shortId: string;
  /** What compose and the engine call the containers of its service, among the aliases of a network. */
  ownNames: readonly string[];
}

/**
 * What a container is given in a section of a compose file, by item (`''` where the section is one value). What amounts to
 * nothing (no, 0, an empty list) is not given; nor has an item what only names the same in another way.
 */
type Items = Readonly<Record<string, unknown>>;
type Sections = Readonly<Record<string, (definition: Definition) => Items>>;

const textsOf = (items: Items): ReadonlyMap<string, string> =>
  new Map(Object.entries(items).flatMap(([item, value]) => (isNothing(value) ? [] : [[item, text(value)]])));

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
const set = (values: unknown): Items => one([...new Set(strings(values))].sort());
const byKey = <T>(entries: readonly T[], read: (entry: T) => readonly [key: string, value: unknown]): Items =>
  Object.fromEntries(entries.map(read));

/** Sections that are one value in `Config`, by its key there. */
const inConfig = (keys: Readonly<Record<string, string>>): Sections =>
  eachOf(keys, (key, { config }) => one(config[key]));

/** Sections that are one value, a list in any order, or a map in `HostConfig`, by its key there. */
const inHost = (keys: Readonly<Record<string, string>>): Sections =>
  eachOf(keys, (key, { hostConfig: { [key]: value } }) => {
    if (Array.isArray(value)) return set(value);
    return value !== null && typeof value === 'object' ? object(value) : one(value);
  });

/** Limits in `HostConfig`, where -1 is none. */
const limits = (keys: Readonly<Record<string, string>>): Sections =>
  eachOf(keys, (key, { hostConfig: { [key]: value } }) => one(value === -1 ? null : value));

const eachOf = (
  keys: Readonly<Record<string, string>>,
  read: (key: string, definition: Definition) => Items,
): Sections =>
  Object.fromEntries(
    Object.entries(keys).map(([name, key]) => [name, (definition: Definition) => read(key, definition)]),
  );

const host =
  (read: (hostConfig: Json) => Items) =>
  ({ hostConfig }: Definition): Items =>
    read(hostConfig);

const sections: Sections = {
  container_name: ({ name }) => one(name),
  // An empty value is one, too: a label without a value, a variable that is set to nothing.
  environment: ({ config }) =>
    byKey([...environment(strings(config.Env))], ([key, value]) => [key, JSON.stringify(value)]),
  labels: ({ config }) => {
    const labels = Object.entries(object(config.Labels));
    const given = labels.filter(([key]) => !toolLabels.some((beginning) => key.startsWith(beginning)));
    return byKey(given, ([key, value]) => [key, JSON.stringify(value)]);
  },
  ...inConfig({ command: 'Cmd', entrypoint: 'Entrypoint', user: 'User' }),
  working_dir: ({ config }) => one(String(config.WorkingDir ?? '').replace(/\/+$/, '')),
  hostname: ({ config, shortId }) => one(config.Hostname === shortId ? '' : config.Hostname),
  ...inConfig({ domainname: 'Domainname', tty: 'Tty', stdin_open: 'OpenStdin' }),
  stop_signal: ({ config }) => one(String(config.StopSignal ?? '').replace(/^(SIG)?TERM$/, '')),
  ...inConfig({ stop_grace_period: 'StopTimeout', healthcheck: 'Healthcheck' }),
  expose: ({ config, hostConfig }) => {
    const ports = object(hostConfig.PortBindings);
    return set(Object.keys(object(config.ExposedPorts)).filter((port) => !Object.hasOwn(ports, port)));
  },
  cap_add: host(({ CapAdd }) => set(strings(CapAdd).map(capability))),
  cap_drop: host(({ CapDrop }) => set(strings(CapDrop).map(capability))),
  ...inHost({ init: 'Init', ipc: 'IpcMode', pid: 'PidMode', cgroup: 'CgroupnsMode' }),
  ...inHost({ userns_mode: 'UsernsMode', uts: 'UTSMode', read_only: 'ReadonlyRootfs' }),
  ...inHost({ privileged: 'Privileged', runtime: 'Runtime' }),
  restart: host(({ RestartPolicy }) => one(object(RestartPolicy).Name === 'no' ? '' : RestartPolicy)),
  ...inHost({ sysctls: 'Sysctls', storage_opt: 'StorageOpt', annotations: 'Annotations' }),
  ...inHost({ dns: 'Dns', dns_search: 'DnsSearch', dns_opt: 'DnsOptions' }),
  extra_hosts: host(({ ExtraHosts }) => hosts(strings(ExtraHosts))),
  security_opt: host(({ SecurityOpt, MaskedPaths, Privileged }) => {
    const isUnconfined = Array.isArray(MaskedPaths) && MaskedPaths.length === 0 && Privileged !== true;
    return set([
      ...strings(SecurityOpt).map(securityOption),
      ...(isUnconfined ? ['systempaths=unconfined'] : []),
    ]);
  }),
  ...inHost({ group_add: 'GroupAdd', oom_score_adj: 'OomScoreAdj', volume_driver: 'VolumeDriver' }),
  ...inHost({ volumes_from: 'VolumesFrom' }),
  logging: host(({ LogConfig }) => one(object(LogConfig).Type)),
  'logging options': host(({ LogConfig }) => object(object(LogConfig).Config)),
  tmpfs: host(({ Tmpfs }) =>
    byKey(Object.entries(object(Tmpfs)), ([target, options]) => {
      const words = String(options ?? '').split(',');
      return [target, `tmpfs ${words.filter(Boolean).sort().join()}`];
    }),
  ),
  devices: host(({ Devices }) =>
    byKey(list(Devices) as Json[], ({ PathOnHost, PathInContainer, CgroupPermissions }) => [
      String(PathInContainer),
      `${PathOnHost} ${[...String(CgroupPermissions || 'rwm')].sort().join('')}`,
    ]),
  ),
  ...inHost({ device_cgroup_rules: 'DeviceCgroupRules' }),
  gpus: host(({ DeviceRequests }) => set(list(DeviceRequests).map(text))),
  ...limits({ mem_limit: 'Memory', memswap_limit: 'MemorySwap', mem_swappiness: 'MemorySwappiness' }),
  ...limits({ mem_reservation: 'MemoryReservation', oom_kill_disable: 'OomKillDisable', cpus: 'NanoCpus' }),
  ...limits({ cpu_shares: 'CpuShares', cpu_period: 'CpuPeriod', cpu_quota: 'CpuQuota' }),
  ...limits({ cpu_rt_period: 'CpuRealtimePeriod', cpu_rt_runtime: 'CpuRealtimeRuntime' }),
  ...limits({ cpuset: 'CpusetCpus', pids_limit: 'PidsLimit' }),
  blkio_config: host((all) => {
    const own = Object.entries(all).filter(([key, value]) => key.startsWith('Blkio') && !isNothing(value));
    return one(Object.fromEntries(own));
  }),
  ...inHost({ shm_size: 'ShmSize', cgroup_parent: 'CgroupParent' }),
  ulimits: host(({ Ulimits }) =>
    byKey(list(Ulimits) as Json[], ({ Name, Soft, Hard }) => [String(Name), `${Soft}:${Hard}`]),
  ),
  volumes: host((all) => byKey(mounts(all), ({ target, mount }) => [target, mount])),
  'volume options': host((all) => byKey(mounts(all), ({ target, options }) => [target, options.sort()])),
  ports: host((all) => byKey(publishedPorts(all), (port) => [port, 'published'])),
  network_mode: host(({ NetworkMode }) => {
    const mode = String(NetworkMode ?? '');
    const isTold = isShared(mode) || ['host', 'none', 'bridge', 'default'].includes(mode);
    return one(isTold ? (mode === 'default' ? 'bridge' : mode) : '');
  }),
  networks: endpoints(() => 'joined'),
  'network address': endpoints(({ IPAMConfig }) => IPAMConfig),
  'network aliases': endpoints(({ Aliases }, { ownNames }) =>
    strings(Aliases)
      .filter((alias) => !ownNames.includes(alias))
      .sort(),
  ),
  'network options': endpoints(({ DriverOpts, GwPriority }) => ({ DriverOpts, GwPriority })),
  links: endpoints(({ Links }) => [...new Set(strings(Links).map(withoutNumber))].sort()),
};

const capability = (name: string): string => name.toUpperCase().replace(/^CAP_/, '');

/** `host:ip`, in older and newer spelling; a host may have several addresses. */
function hosts(entries: readonly string[]): Items {
  const byName = Map.groupBy(entries, (entry) => entry.split(/[:=]/)[0] ?? '');
  return byKey([...byName], ([name, same]) => [
    name,
    same.map((entry) => entry.slice(name.length + 1).replace(/^\[(.*)\]$/, '$1')).sort(),
  ]);
}

const securityOption = (option: string): string =>
  option === 'no-new-privileges'
    ? 'no-new-privileges=true'
    : option.replace(/^(label|apparmor|seccomp|no-new-privileges):/, '$1=');

const isShared = (mode: string): boolean => /^(container|service):/.test(mode);

/** By network, what its endpoint gives; in another container's namespace there is none of its own. */
function endpoints(read: (endpoint: Json, definition: Definition) => unknown): (of: Definition) => Items {
  return (definition) => {
    const isOther = isShared(String(definition.hostConfig.NetworkMode ?? ''));
    const joined = Object.entries(isOther ? {} : definition.networks);
    const own = joined.filter(([name]) => !['host', 'none'].includes(name));
    return byKey(own, ([name, endpoint]) => [name, read(endpoint, definition)]);
  };
}

/** Besides those of the file, compose gives names and links that end in the number of the container. */
export const withoutNumber = (name: string): string => name.replace(/[-_]\d+$/, '');

export const withoutSlash = (path: unknown): string => String(path).replace(/(?<=.)\/+$/, '');

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
    return { target: withoutSlash(target), mount, options: words.filter((word) => !plain.has(word)) };
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
    return { target: withoutSlash(Target), mount, options };
  });
  return [...binds, ...others];
}

const shaped = (type: string, source: string, readOnly: boolean): ShapedMount => ({
  type,
  // An image that is mounted holds no data; compose 5.5 and later send its name, earlier versions its id.
  source: type === 'image' || (type === 'volume' && anonymous.test(source)) ? '' : withoutSlash(source),
  readOnly,
});

const anyAddress = new Set(['', '0.0.0.0', '::']);

/** `127.0.0.1:80:8080/tcp`; a port that the engine chooses is `0`. */
function publishedPorts(host: Json): string[] {
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

export function findDifferences(running: Definition, planned: Definition): Difference[] {
  const differences = Object.entries(sections).flatMap(([section, read]) => {
    const [now, then] = [textsOf(read(running)), textsOf(read(planned))];
    return [...new Set([...now.keys(), ...then.keys()])].flatMap((item): Difference[] => {
      const pair = { running: now.get(item) ?? null, planned: then.get(item) ?? null };
      return pair.running === pair.planned ? [] : [{ section, item, ...pair }];
    });
  });
  return withinNetworks(withoutChosenPorts(differences));
}

/** By the name of a network, too. */
const ofNetwork = new Set(['network address', 'network aliases', 'network options', 'links']);

/** If a network is added or removed, its other differences are not reported separately. */
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
