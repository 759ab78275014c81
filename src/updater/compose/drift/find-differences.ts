import type { ContainerDefinition } from '../../../engine/comparison/find-gained-privileges.ts';
import { parseEnvironment } from '../../../engine/objects/container.ts';
import { type Json, toList, toObject, toStrings } from '../../../engine/objects/json.ts';
import { internalLabelPrefixes } from '../../../engine/objects/labels.ts';

/** A container as the engine reports it, or as compose would create it. */
export interface DriftDefinition extends ContainerDefinition {
  /** Container name without the replica number. */
  name: string;
  /** Endpoints, keyed by network name. */
  networks: Readonly<Record<string, Json>>;
  /** First 12 digits of the container ID: the default host name. */
  shortId: string;
  /** Network aliases that compose and the engine add for the containers of the service. */
  defaultAliases: readonly string[];
}

/**
 * Values of a section of the compose file, keyed by item. The key is `''` if the section has only one value. Empty
 * values, such as false, 0 or `[]`, count as missing. Equivalent notations have the same value.
 */
type Items = Readonly<Record<string, unknown>>;
type Sections = Readonly<Record<string, (definition: DriftDefinition) => Items>>;

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

/** Equal values are converted to equal text, whatever the order of their keys. */
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
const set = (values: unknown): Items => one([...new Set(toStrings(values))].sort());
const byKey = <T>(entries: readonly T[], read: (entry: T) => readonly [key: string, value: unknown]): Items =>
  Object.fromEntries(entries.map(read));

/**
 * Creates sections with a single value from `Config`.
 * @param keys - the keys in `Config`, keyed by section
 */
const inConfig = (keys: Readonly<Record<string, string>>): Sections =>
  eachOf(keys, (key, { config }) => one(config[key]));

/**
 * Creates sections from a single value, an unordered list or a map in `HostConfig`.
 * @param keys - the keys in `HostConfig`, keyed by section
 */
const inHost = (keys: Readonly<Record<string, string>>): Sections =>
  eachOf(keys, (key, { hostConfig: { [key]: value } }) => {
    if (Array.isArray(value)) return set(value);
    return value !== null && typeof value === 'object' ? toObject(value) : one(value);
  });

/**
 * Creates sections from limits in `HostConfig`, in which -1 means no limit.
 * @param keys - the keys in `HostConfig`, keyed by section
 */
const limits = (keys: Readonly<Record<string, string>>): Sections =>
  eachOf(keys, (key, { hostConfig: { [key]: value } }) => one(value === -1 ? null : value));

const eachOf = (
  keys: Readonly<Record<string, string>>,
  read: (key: string, definition: DriftDefinition) => Items,
): Sections =>
  Object.fromEntries(
    Object.entries(keys).map(([name, key]) => [name, (definition: DriftDefinition) => read(key, definition)]),
  );

const host =
  (read: (hostConfig: Json) => Items) =>
  ({ hostConfig }: DriftDefinition): Items =>
    read(hostConfig);

const sections: Sections = {
  container_name: ({ name }) => one(name),
  // Values are converted to JSON, so that an empty string does not count as missing.
  environment: ({ config }) =>
    byKey([...parseEnvironment(toStrings(config.Env))], ([key, value]) => [key, JSON.stringify(value)]),
  labels: ({ config }) => {
    const labels = Object.entries(toObject(config.Labels));
    const given = labels.filter(
      ([key]) => !internalLabelPrefixes.some((beginning) => key.startsWith(beginning)),
    );
    return byKey(given, ([key, value]) => [key, JSON.stringify(value)]);
  },
  ...inConfig({ command: 'Cmd', entrypoint: 'Entrypoint', user: 'User' }),
  working_dir: ({ config }) => one(String(config.WorkingDir ?? '').replace(/\/+$/, '')),
  hostname: ({ config, shortId }) => one(config.Hostname === shortId ? '' : config.Hostname),
  ...inConfig({ domainname: 'Domainname', tty: 'Tty', stdin_open: 'OpenStdin' }),
  stop_signal: ({ config }) => one(String(config.StopSignal ?? '').replace(/^(SIG)?TERM$/, '')),
  ...inConfig({ stop_grace_period: 'StopTimeout', healthcheck: 'Healthcheck' }),
  expose: ({ config, hostConfig }) => {
    const ports = toObject(hostConfig.PortBindings);
    return set(Object.keys(toObject(config.ExposedPorts)).filter((port) => !Object.hasOwn(ports, port)));
  },
  cap_add: host(({ CapAdd }) => set(toStrings(CapAdd).map(capability))),
  cap_drop: host(({ CapDrop }) => set(toStrings(CapDrop).map(capability))),
  ...inHost({ init: 'Init', ipc: 'IpcMode', pid: 'PidMode', cgroup: 'CgroupnsMode' }),
  ...inHost({ userns_mode: 'UsernsMode', uts: 'UTSMode', read_only: 'ReadonlyRootfs' }),
  ...inHost({ privileged: 'Privileged', runtime: 'Runtime' }),
  restart: host(({ RestartPolicy }) => one(toObject(RestartPolicy).Name === 'no' ? '' : RestartPolicy)),
  ...inHost({ sysctls: 'Sysctls', storage_opt: 'StorageOpt', annotations: 'Annotations' }),
  ...inHost({ dns: 'Dns', dns_search: 'DnsSearch', dns_opt: 'DnsOptions' }),
  extra_hosts: host(({ ExtraHosts }) => hosts(toStrings(ExtraHosts))),
  security_opt: host(({ SecurityOpt, MaskedPaths, Privileged }) => {
    const isUnconfined = Array.isArray(MaskedPaths) && MaskedPaths.length === 0 && Privileged !== true;
    return set([
      ...toStrings(SecurityOpt).map(securityOption),
      ...(isUnconfined ? ['systempaths=unconfined'] : []),
    ]);
  }),
  ...inHost({ group_add: 'GroupAdd', oom_score_adj: 'OomScoreAdj', volume_driver: 'VolumeDriver' }),
  ...inHost({ volumes_from: 'VolumesFrom' }),
  logging: host(({ LogConfig }) => one(toObject(LogConfig).Type)),
  'logging options': host(({ LogConfig }) => toObject(toObject(LogConfig).Config)),
  tmpfs: host(({ Tmpfs }) =>
    byKey(Object.entries(toObject(Tmpfs)), ([target, options]) => {
      const words = String(options ?? '').split(',');
      return [target, `tmpfs ${words.filter(Boolean).sort().join()}`];
    }),
  ),
  devices: host(({ Devices }) =>
    byKey(toList<Json>(Devices), ({ PathOnHost, PathInContainer, CgroupPermissions }) => [
      String(PathInContainer),
      `${PathOnHost} ${[...String(CgroupPermissions || 'rwm')].sort().join('')}`,
    ]),
  ),
  ...inHost({ device_cgroup_rules: 'DeviceCgroupRules' }),
  gpus: host(({ DeviceRequests }) => set(toList(DeviceRequests).map(text))),
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
    byKey(toList<Json>(Ulimits), ({ Name, Soft, Hard }) => [String(Name), `${Soft}:${Hard}`]),
  ),
  volumes: host((all) => byKey(definitionMountsOf(all), ({ target, mount }) => [target, mount])),
  'volume options': host((all) =>
    byKey(definitionMountsOf(all), ({ target, options }) => [target, options.sort()]),
  ),
  ports: host((all) => byKey(publishedPorts(all), (port) => [port, 'published'])),
  network_mode: host(({ NetworkMode }) => {
    const mode = String(NetworkMode ?? '');
    const isTold = isSharedNamespace(mode) || ['host', 'none', 'bridge', 'default'].includes(mode);
    return one(isTold ? (mode === 'default' ? 'bridge' : mode) : '');
  }),
  networks: endpoints(() => 'joined'),
  'network address': endpoints(({ IPAMConfig }) => IPAMConfig),
  'network aliases': endpoints(({ Aliases }, { defaultAliases: ownNames }) =>
    toStrings(Aliases)
      .filter((alias) => !ownNames.includes(alias))
      .sort(),
  ),
  'network options': endpoints(({ DriverOpts, GwPriority }) => ({ DriverOpts, GwPriority })),
  links: endpoints(({ Links }) => [...new Set(toStrings(Links).map(removeContainerNumber))].sort()),
};

const capability = (name: string): string => name.toUpperCase().replace(/^CAP_/, '');

/** Groups entries in the older syntax `host:ip` and the newer `host=ip` by host. A host may have several addresses. */
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

/** Whether a mode joins the namespace of another container or service. */
export const isSharedNamespace = (mode: unknown): boolean => /^(container|service):/.test(String(mode));

/**
 * Creates a section with one value per network endpoint. A container in another container's network namespace has no
 * endpoints of its own.
 */
function endpoints(
  read: (endpoint: Json, definition: DriftDefinition) => unknown,
): (of: DriftDefinition) => Items {
  return (definition) => {
    const isOther = isSharedNamespace(definition.hostConfig.NetworkMode);
    const joined = Object.entries(isOther ? {} : definition.networks);
    const own = joined.filter(([name]) => !['host', 'none'].includes(name));
    return byKey(own, ([name, endpoint]) => [name, read(endpoint, definition)]);
  };
}

/**
 * Removes the replica number from the name of a container or link. Compose also requests numbered links that the files
 * do not contain.
 */
export const removeContainerNumber = (name: string): string => name.replace(/[-_]\d+$/, '');

export const removeTrailingSlash = (path: unknown): string => String(path).replace(/(?<=.)\/+$/, '');

/** A mount without its target. The `volumes` section contains each mount in this form, as JSON. */
export interface DefinitionMount {
  type: string;
  /** Host path or volume name; empty for an anonymous volume, whose data compose carries over. */
  source: string;
  readOnly: boolean;
}

/** Matches the name of an anonymous volume: 64 hex digits, generated by the engine. */
const anonymousVolumePattern = /^[0-9a-f]{64}$/;

/**
 * Returns the mounts in a `HostConfig`. The compose version determines whether named volumes are in `Binds` or
 * `Mounts`.
 */
export function definitionMountsOf(
  host: Json,
): { target: string; mount: DefinitionMount; options: string[] }[] {
  const plain = new Set(['rw', 'ro', '', 'rprivate']);
  const binds = toStrings(host.Binds).map((bind) => {
    const [first = '', second, mode = ''] = bind.split(':');
    const [source, target] = second === undefined ? ['', first] : [first, second];
    const words = mode.split(',');
    const mount = toDefinitionMount(source.startsWith('/') ? 'bind' : 'volume', source, words.includes('ro'));
    return { target: removeTrailingSlash(target), mount, options: words.filter((word) => !plain.has(word)) };
  });
  const others = toList<Json>(host.Mounts).map((each) => {
    const { Type, Source, Target, ReadOnly, BindOptions, VolumeOptions, TmpfsOptions } = each;
    const { Propagation, NonRecursive, ReadOnlyNonRecursive, ReadOnlyForceRecursive } = toObject(BindOptions);
    const { NoCopy, Subpath } = toObject(VolumeOptions);
    const { SizeBytes, Mode } = toObject(TmpfsOptions);
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
    const mount = toDefinitionMount(String(Type), String(Source ?? ''), Boolean(ReadOnly));
    return { target: removeTrailingSlash(Target), mount, options };
  });
  return [...binds, ...others];
}

const toDefinitionMount = (type: string, source: string, readOnly: boolean): DefinitionMount => ({
  type,
  // Ignore a mounted image's source. Images contain no data, and compose before 5.5 sends the image's ID instead of its
  // name.
  source:
    type === 'image' || (type === 'volume' && anonymousVolumePattern.test(source))
      ? ''
      : removeTrailingSlash(source),
  readOnly,
});

const anyAddress = new Set(['', '0.0.0.0', '::']);

/** Returns the published ports, such as `127.0.0.1:80:8080/tcp`. A host port that the engine chooses is `0`. */
function publishedPorts(host: Json): string[] {
  return Object.entries(toObject(host.PortBindings)).flatMap(([target, bindings]) =>
    toList<Json>(bindings).map(({ HostIp, HostPort }) => {
      const address = anyAddress.has(String(HostIp ?? '')) ? '' : `${HostIp}:`;
      return `${address}${HostPort || 0}:${target}`;
    }),
  );
}

/** A change that recreating a container would cause. Its values must not be logged. */
export interface DefinitionDifference {
  /** Section of the compose file, such as `environment`, `volumes` or `cap_add`. */
  section: string;
  /** Item of the section; `''` if the section has a single value. */
  item: string;
  /** Value of the running container; null if the item is new. */
  running: string | null;
  /** Value of the new container; null if the item is removed. */
  planned: string | null;
}

export function findDefinitionDifferences(
  running: DriftDefinition,
  planned: DriftDefinition,
): DefinitionDifference[] {
  const differences = Object.entries(sections).flatMap(([section, read]) => {
    const [now, then] = [textsOf(read(running)), textsOf(read(planned))];
    return [...new Set([...now.keys(), ...then.keys()])].flatMap((item): DefinitionDifference[] => {
      const pair = { running: now.get(item) ?? null, planned: then.get(item) ?? null };
      return pair.running === pair.planned ? [] : [{ section, item, ...pair }];
    });
  });
  return dropNetworkDifferences(dropChosenPortDifferences(differences));
}

/** Sections other than `networks` whose items are network names. */
const networkSections = new Set(['network address', 'network aliases', 'network options', 'links']);

/** If a network is added or removed, drops all other differences that concern this network. */
function dropNetworkDifferences(differences: readonly DefinitionDifference[]): DefinitionDifference[] {
  const others = new Set(differences.filter(({ section }) => section === 'networks').map(({ item }) => item));
  return differences.filter(({ section, item }) => !networkSections.has(section) || !others.has(item));
}

/** Drops the difference between a published port range and the port that was chosen from the range. */
function dropChosenPortDifferences(differences: readonly DefinitionDifference[]): DefinitionDifference[] {
  const ports = differences.filter(({ section }) => section === 'ports');
  const chosen = new Set<DefinitionDifference>();
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
