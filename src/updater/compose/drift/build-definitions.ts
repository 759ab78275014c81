import type { ComposeModel } from '../../../engine/cli/compose.ts';
import type { ContainerDefinition } from '../../../engine/comparison/find-gained-privileges.ts';
import { listCopiedPaths } from '../../../engine/containers/copied-files.ts';
import { finalNameOf } from '../../../engine/containers/project-containers.ts';
import { isUnsetValue, type Json, toList, toObject } from '../../../engine/objects/json.ts';
import { addPodmanDefaults } from '../../../engine/objects/podman.ts';
import type { ContainerCreateRequest } from '../inspect/installation.ts';
import { applyEngineDefaults, type EngineDefaults } from './engine-defaults.ts';
import {
  type DriftDefinition,
  definitionMountsOf,
  removeContainerNumber,
  removeTrailingSlash,
} from './find-differences.ts';

/**
 * Converts the response of `GET /containers/<id>/json` to a definition.
 * @param names - names of the service and its containers
 */
export function parseRunningDefinition(raw: Json, names: readonly string[]): DriftDefinition {
  const hostConfig = toObject(raw.HostConfig);
  const named = new Set([
    ...definitionMountsOf(hostConfig).map(({ target }) => target),
    ...Object.keys(toObject(hostConfig.Tmpfs)).map(removeTrailingSlash),
  ]);
  // Volumes that the image declares. `HostConfig` omits them, but compose mounts them in the new container.
  const ofImage = toList<Json>(raw.Mounts)
    .filter(({ Type, Destination }) => Type === 'volume' && !named.has(removeTrailingSlash(Destination)))
    .map(({ Type, Name: Source, Destination: Target, RW }) => ({
      Type,
      Source,
      Target,
      ReadOnly: RW === false,
    }));
  const networks = Object.entries(toObject(toObject(raw.NetworkSettings).Networks));
  const shortId = String(raw.Id).slice(0, 12);
  return {
    name: removeContainerNumber(finalNameOf({ name: String(raw.Name).replace(/^\//, '') })),
    config: toObject(raw.Config),
    hostConfig: { ...hostConfig, Mounts: [...toList(hostConfig.Mounts), ...ofImage] },
    networks: Object.fromEntries(
      networks.map(([name, endpoint]) => [name, removeSwarmAddress(toObject(endpoint))]),
    ),
    shortId,
    defaultAliases: [shortId, ...names],
  };
}

/**
 * Removes the address that a swarm manager chose, because the engine reports it as if it had been requested. The ID of
 * a swarm network is not 64 hex digits.
 */
const removeSwarmAddress = (endpoint: Json): Json =>
  endpoint.NetworkID && !/^[0-9a-f]{64}$/.test(String(endpoint.NetworkID))
    ? { ...endpoint, IPAMConfig: null }
    : endpoint;

/** Sources of the settings that a new container has in addition to those in compose's create request. */
export interface PlannedDefinitionSources {
  /** `Config` of the image; null if the image is no longer on this machine. */
  imageConfig: Json | null;
  /** Networks to which compose would connect the container after creating it. */
  moreNetworks: readonly string[];
  defaults: EngineDefaults;
}

/**
 * Computes the definition that results from a `POST /containers/create` body, image settings and engine defaults.
 * Unknown defaults are taken from the running container, so that they do not count as differences.
 */
export function buildPlannedDefinition(
  { name, body }: Pick<ContainerCreateRequest, 'name' | 'body'>,
  running: DriftDefinition,
  { imageConfig: image, moreNetworks, defaults }: PlannedDefinitionSources,
): DriftDefinition {
  const { HostConfig, NetworkingConfig, ...config } = body;
  const host = toObject(HostConfig);
  const mode = String(host.NetworkMode ?? '');
  const ofMode = ['host', 'none', 'bridge'].includes(mode) ? [mode] : mode === 'default' ? ['bridge'] : [];
  const endpoints = toObject(toObject(NetworkingConfig).EndpointsConfig) as Record<string, Json>;
  const networks = Object.fromEntries([
    // For networks joined later or by network mode, the body contains only the name, so use the running container's
    // settings.
    ...[...moreNetworks, ...ofMode].map((name) => [name, running.networks[name] ?? {}]),
    ...Object.entries(endpoints),
  ]);
  const merged = addSharedHostname(mergeImageSettings(config, image, running.config), host, running);
  return {
    ...running,
    name: removeContainerNumber(name),
    config: defaults.isPodman ? addPodmanDefaults(merged, running.config) : merged,
    hostConfig: applyEngineDefaults(host, running.hostConfig, defaults),
    networks,
  };
}

/** Merges the image's settings into the request body, as the engine does (moby's `runconfig.Merge`). */
function mergeImageSettings(sent: Json, image: Json | null, running: Json): Json {
  // The settings of a missing image are unknown, so the running container's values are used.
  const given = image ?? running;
  const merged = { ...sent };
  for (const key of ['User', 'WorkingDir', 'StopSignal', 'Healthcheck']) {
    if (isUnsetValue(merged[key])) merged[key] = given[key];
  }
  const [test, ofImage] = [toObject(sent.Healthcheck), toObject(given.Healthcheck)];
  if (!isUnsetValue(sent.Healthcheck)) {
    const keys = ['Test', 'Interval', 'Timeout', 'StartPeriod', 'StartInterval', 'Retries'];
    merged.Healthcheck = Object.fromEntries(
      keys.map((key) => [key, isUnsetValue(test[key]) ? ofImage[key] : test[key]]),
    );
  }
  if (isUnsetValue(sent.Entrypoint)) {
    if (isUnsetValue(sent.Cmd)) merged.Cmd = given.Cmd;
    if (sent.Entrypoint === null || sent.Entrypoint === undefined) merged.Entrypoint = given.Entrypoint;
  } else if (toList(sent.Entrypoint).length === 1 && toList(sent.Entrypoint)[0] === '')
    merged.Entrypoint = null;
  merged.Labels = { ...toObject(given.Labels), ...toObject(sent.Labels) };
  merged.ExposedPorts = { ...toObject(given.ExposedPorts), ...toObject(sent.ExposedPorts) };
  const keyOf = (entry: unknown) => String(entry).split('=', 1)[0] ?? '';
  const sentKeys = new Set(toList(sent.Env).map(keyOf));
  merged.Env = [...toList(sent.Env), ...toList(given.Env).filter((entry) => !sentKeys.has(keyOf(entry)))];
  return merged;
}

/** Adds the running container's host name if it shares a network or UTS namespace: the name comes from the owner. */
function addSharedHostname(config: Json, host: Json, running: DriftDefinition): Json {
  const isShared = [host, running.hostConfig].some(
    ({ NetworkMode, UTSMode }) =>
      /^(host$|container:|service:)/.test(String(NetworkMode)) || UTSMode === 'host',
  );
  if (!isShared) return config;
  const { Hostname, Domainname } = running.config;
  return {
    ...config,
    Hostname: isUnsetValue(config.Hostname) ? Hostname : config.Hostname,
    Domainname: isUnsetValue(config.Domainname) ? Domainname : config.Domainname,
  };
}

/** Keys of `HostConfig` that grant privileges, each with the corresponding service key in compose's model. */
const privilegeKeys = {
  ...{
    Privileged: 'privileged',
    NetworkMode: 'network_mode',
    PidMode: 'pid',
    IpcMode: 'ipc',
    UTSMode: 'uts',
  },
  ...{ UsernsMode: 'userns_mode', CgroupnsMode: 'cgroup', CapAdd: 'cap_add', CapDrop: 'cap_drop' },
  ...{ DeviceCgroupRules: 'device_cgroup_rules', SecurityOpt: 'security_opt', GroupAdd: 'group_add' },
  VolumesFrom: 'volumes_from',
};

/**
 * Returns the settings of a service that grant privileges, in the engine's format.
 * @param user - the image's user, used if the service sets no user
 */
export function buildPrivilegeDefinition(
  model: ComposeModel,
  name: string,
  user: string,
): ContainerDefinition {
  const service = model.services[name] ?? {};
  const raw = service as Json;
  const reservations = toObject(toObject(toObject(raw.deploy).resources).reservations);
  const files = (['secrets', 'configs'] as const).flatMap((kind) =>
    (service[kind] ?? []).flatMap((reference) => {
      const Source = model[kind]?.[reference.source]?.file;
      const [Target] = listCopiedPaths({ [kind]: [reference] });
      return Source === undefined ? [] : [{ Type: 'bind', Source, Target, ReadOnly: true }];
    }),
  );
  const volumes = (service.volumes ?? []).map(({ type, source = '', target, read_only }) => ({
    Type: type,
    Source: type === 'volume' ? (model.volumes?.[source]?.name ?? source) : source,
    Target: target,
    ReadOnly: read_only,
  }));
  const socket = '/var/run/docker.sock';
  const hostConfig = {
    ...Object.fromEntries(Object.entries(privilegeKeys).map(([key, word]) => [key, raw[word]])),
    Devices: toList<Json>(raw.devices).map(({ source, permissions }) => ({
      PathOnHost: source,
      CgroupPermissions: permissions,
    })),
    DeviceRequests: ([...toList(raw.gpus), ...toList(reservations.devices)] as Json[]).map((request) => ({
      Driver: request.driver,
      Count: request.count,
      DeviceIDs: request.device_ids,
      Capabilities: request.capabilities,
    })),
    Mounts: [
      ...volumes,
      ...files,
      ...(raw.use_api_socket === true ? [{ Type: 'bind', Source: socket, Target: socket }] : []),
    ],
  };
  return { config: { User: raw.user ?? user }, hostConfig };
}
