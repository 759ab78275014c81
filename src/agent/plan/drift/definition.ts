import { type Json, list, object } from './json.ts';

/** A container as the engine tells of it, or as compose would send it. */
export interface Definition {
  config: Json;
  hostConfig: Json;
  /** By network name. */
  networks: Readonly<Record<string, Json>>;
  /** Its id's first 12 digits, which are its host name where it was given none. */
  shortId: string;
  /** What compose and the engine call the containers of its service, among the aliases of a network. */
  ownNames: readonly string[];
}

/** Of the answer to `GET /containers/<id>/json`. @param names of the service and of its containers */
export function runningDefinition(raw: Json, names: readonly string[]): Definition {
  const hostConfig = object(raw.HostConfig);
  const named = new Set(
    [
      ...(list(hostConfig.Binds) as string[]).map((bind) => bind.split(':')[1] ?? bind),
      ...(list(hostConfig.Mounts) as Json[]).map(({ Target }) => String(Target)),
      ...Object.keys(object(hostConfig.Tmpfs)),
    ].map(withoutSlash),
  );
  // Volumes that the image asks for: the definition does not have them, and compose takes them along as mounts.
  const ofImage = (list(raw.Mounts) as Json[])
    .filter(({ Type, Destination }) => Type === 'volume' && !named.has(withoutSlash(String(Destination))))
    .map(({ Name, Destination, RW }) => ({
      Type: 'volume',
      Source: Name,
      Target: Destination,
      ReadOnly: RW === false,
    }));
  const shortId = String(raw.Id).slice(0, 12);
  return {
    config: object(raw.Config),
    hostConfig: { ...hostConfig, Mounts: [...list(hostConfig.Mounts), ...ofImage] },
    networks: Object.fromEntries(
      Object.entries(object(object(raw.NetworkSettings).Networks)).map(([name, endpoint]) => [
        name,
        withoutSwarmsAddress(object(endpoint)),
      ]),
    ),
    shortId,
    ownNames: [shortId, ...names],
  };
}

/** On a network of the swarm, whose id is no 64 hex digits, the manager chooses the address, as if it was asked for. */
const withoutSwarmsAddress = (endpoint: Json): Json =>
  /^[0-9a-f]{64}$/.test(String(endpoint.NetworkID || id64)) ? endpoint : { ...endpoint, IPAMConfig: null };

const id64 = '0'.repeat(64);

const withoutSlash = (path: string): string => path.replace(/(?<=.)\/+$/, '');

/**
 * What the engine would make of a body of `POST /containers/create` in place of the container that runs: what the image
 * gives, and what the engine chooses where compose is silent. The latter is taken to be as it is, since nobody can tell
 * the engine's choice from an older wish.
 * @param image its `Config`; null where it is not on this machine any more
 * @param moreNetworks names of networks that compose would join it to afterwards
 */
export function plannedDefinition(
  body: Json,
  running: Definition,
  image: Json | null,
  moreNetworks: readonly string[],
): Definition {
  const { HostConfig, NetworkingConfig, ...config } = body;
  const host = object(HostConfig);
  const mode = String(host.NetworkMode ?? '');
  const ofMode = ['host', 'none', 'bridge'].includes(mode) ? [mode] : mode === 'default' ? ['bridge'] : [];
  const endpoints = object(object(NetworkingConfig).EndpointsConfig) as Record<string, Json>;
  const networks = Object.fromEntries([
    // Of a network that is joined afterwards, or by its mode, the body tells the name alone.
    ...[...moreNetworks, ...ofMode].map((name) => [name, running.networks[name] ?? {}]),
    ...Object.entries(endpoints).map(([name, endpoint]) => [name, withMac(endpoint, running.networks[name])]),
  ]);
  return {
    config: withHostname(withImage(config, image, running.config), host, running),
    hostConfig: withChoices(host, running.hostConfig),
    networks,
    shortId: running.shortId,
    ownNames: running.ownNames,
  };
}

/** As the engine merges them, `runconfig.Merge` of moby. */
function withImage(sent: Json, image: Json | null, running: Json): Json {
  // Of an image that is gone nobody can tell what it gave: all that it may have given is taken to be as it is.
  const given = image ?? running;
  const merged = { ...sent };
  for (const key of ['User', 'WorkingDir', 'StopSignal', 'Healthcheck']) {
    if (isEmpty(merged[key])) merged[key] = given[key];
  }
  const [test, ofImage] = [object(sent.Healthcheck), object(given.Healthcheck)];
  if (!isEmpty(sent.Healthcheck)) {
    const keys = ['Test', 'Interval', 'Timeout', 'StartPeriod', 'StartInterval', 'Retries'];
    merged.Healthcheck = Object.fromEntries(
      keys.map((key) => [key, isEmpty(test[key]) ? ofImage[key] : test[key]]),
    );
  }
  if (isEmpty(sent.Entrypoint)) {
    if (isEmpty(sent.Cmd)) merged.Cmd = given.Cmd;
    if (sent.Entrypoint === null || sent.Entrypoint === undefined) merged.Entrypoint = given.Entrypoint;
  } else if (list(sent.Entrypoint).length === 1 && list(sent.Entrypoint)[0] === '') merged.Entrypoint = null;
  merged.Labels = { ...object(given.Labels), ...object(sent.Labels) };
  merged.ExposedPorts = { ...object(given.ExposedPorts), ...object(sent.ExposedPorts) };
  const keyOf = (entry: unknown) => String(entry).split('=', 1)[0] ?? '';
  const sentKeys = new Set(list(sent.Env).map(keyOf));
  merged.Env = [...list(sent.Env), ...list(given.Env).filter((entry) => !sentKeys.has(keyOf(entry)))];
  return merged;
}

/** Without a name of its own a container is called by its id, or like the machine whose network or name it has. */
function withHostname(config: Json, host: Json, running: Definition): Json {
  const isShared = /^(host|container:.*)$/.test(String(host.NetworkMode ?? '')) || host.UTSMode === 'host';
  if (!isShared) return config;
  const { Hostname, Domainname } = running.config;
  return {
    ...config,
    Hostname: isEmpty(config.Hostname) ? Hostname : config.Hostname,
    Domainname: isEmpty(config.Domainname) ? Domainname : config.Domainname,
  };
}

/** The engine tells a MAC address of every endpoint, chosen or not. */
const withMac = (sent: Json, running: Json | undefined): Json =>
  isEmpty(sent.MacAddress) ? { ...sent, MacAddress: running?.MacAddress } : sent;

/** What a kernel may not have: the engine then drops it with a warning. */
const mayBeDropped = [
  ...['Memory', 'MemorySwap', 'MemorySwappiness', 'MemoryReservation', 'OomKillDisable', 'PidsLimit'],
  ...['NanoCpus', 'CpuShares', 'CpuPeriod', 'CpuQuota', 'CpuRealtimePeriod', 'CpuRealtimeRuntime'],
  ...['CpusetCpus', 'BlkioWeight'],
];

const defaultShmSize = 64 * 1024 * 1024;

function withChoices(sent: Json, running: Json): Json {
  const filled = { ...sent };
  const asItIs = (key: string) => {
    filled[key] = running[key];
  };
  for (const key of ['Runtime', 'CgroupnsMode', 'MemorySwap', 'MaskedPaths']) {
    if (sent[key] === null || (isEmpty(sent[key]) && !Array.isArray(sent[key]))) asItIs(key);
  }
  for (const key of mayBeDropped) if (isEmpty(running[key]) || running[key] === -1) asItIs(key);
  if (isEmpty(sent.IpcMode) && /^(private|shareable)$/.test(String(running.IpcMode))) asItIs('IpcMode');
  if (isEmpty(sent.ShmSize) && running.ShmSize === defaultShmSize) asItIs('ShmSize');

  // The daemon's own options go with its own driver, and with one that is named where it is the same.
  const [log, runningLog] = [object(sent.LogConfig), object(running.LogConfig)];
  filled.LogConfig = {
    Type: isEmpty(log.Type) ? runningLog.Type : log.Type,
    Config: { ...object(runningLog.Config), ...object(log.Config) },
  };
  const byName = (limits: unknown) =>
    new Map((list(limits) as Json[]).map((limit) => [limit.Name, limit] as const));
  filled.Ulimits = [...new Map([...byName(running.Ulimits), ...byName(sent.Ulimits)]).values()];
  const labels = (list(running.SecurityOpt) as string[]).filter((option) => /^label[=:]/.test(option));
  const hasLabel = (list(sent.SecurityOpt) as string[]).some((option) => /^label[=:]/.test(option));
  if (!hasLabel) filled.SecurityOpt = [...list(sent.SecurityOpt), ...labels];

  // A namespace of a container that was replaced since: compose names the one that took its place.
  for (const key of ['NetworkMode', 'PidMode', 'IpcMode']) {
    if ([sent, running].every((host) => String(host[key]).startsWith('container:'))) asItIs(key);
  }
  // Volumes of another container come by `VolumesFrom`, not by name.
  if (list(sent.VolumesFrom).length > 0) {
    const targets = new Set((list(sent.Mounts) as Json[]).map(({ Target }) => Target));
    const brought = (list(running.Mounts) as Json[]).filter(({ Target }) => !targets.has(Target));
    filled.Mounts = [...list(sent.Mounts), ...brought];
  }
  return filled;
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);
