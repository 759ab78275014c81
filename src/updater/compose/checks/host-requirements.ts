import { isUnsetValue, type Json, toList, toObject, toStrings } from '../../../engine/objects/json.ts';

/**
 * Settings that the host may no longer support. `name` is for messages. It is empty if the engine's error already
 * contains a name.
 */
export type HostRequirement = readonly [name: string, hostConfig: Json];

const hostDependentKeys =
  'Devices DeviceRequests DeviceCgroupRules Runtime CgroupParent CpusetCpus CpusetMems NanoCpus CpuRealtimePeriod CpuRealtimeRuntime BlkioWeightDevice BlkioDeviceReadBps BlkioDeviceWriteBps BlkioDeviceReadIOps BlkioDeviceWriteIOps StorageOpt Ulimits Sysctls SecurityOpt Privileged UsernsMode';
/**
 * Log drivers that are not tested. The first three need no server. The last two would write to the user's log server.
 */
const untestedLogDrivers = ['json-file', 'local', 'none', 'awslogs', 'gcplogs'];
/** Matches addresses that every host has. */
const universalAddressPattern = /^(?:|0\.0\.0\.0|::|127\..*)$/;

/**
 * Lists a container's requirements on its host, except mounts and other containers.
 * @param host - the container's `HostConfig`
 * @param defaultDriver - the engine's log driver
 */
export function listHostRequirements(host: Json, defaultDriver: unknown): HostRequirement[] {
  const requested: Json = {
    ...host,
    SecurityOpt: toStrings(host.SecurityOpt).filter((each) => !/^(no-new-priv|label=disable)/.test(each)),
    // Sysctls of a network interface are not tested, because a helper container has no network interfaces.
    Sysctls: Object.fromEntries(
      Object.entries(toObject(host.Sysctls)).filter(([key]) => !/\.eth\d/.test(key)),
    ),
    // The runtime `runc` is not tested, because every engine has it.
    Runtime: host.Runtime === 'runc' ? '' : host.Runtime,
  };
  const given = hostDependentKeys
    .split(' ')
    .flatMap((key) => (isUnsetValue(requested[key]) ? [] : [[key, requested[key]]]));
  const { Type, Config } = toObject(host.LogConfig);
  const driver = String(Type || defaultDriver || 'json-file');
  const [, server] = Object.entries(toObject(Config)).find(([key]) => key.endsWith('-address')) ?? [];
  const withServer = server === undefined ? driver : `${driver} (${server})`;
  const log = untestedLogDrivers.includes(driver) ? {} : { LogConfig: { Type: driver, Config } };
  // Without a port number, the engine chooses a free port.
  const publish = (HostIp: string) => ({ NetworkMode: 'default', PortBindings: { '1/tcp': [{ HostIp }] } });
  const needs: HostRequirement[] = [
    ['', Object.fromEntries(given)],
    [`log driver ${withServer}`, log],
    ...listPublishedAddresses(host).map(
      (each): HostRequirement => [`published address ${each}`, publish(each)],
    ),
  ];
  return needs.filter(([, hostConfig]) => !isUnsetValue(hostConfig));
}

/** Returns the published addresses that some hosts lack. Empty if the container has no network of its own. */
function listPublishedAddresses({ NetworkMode, PortBindings }: Json): string[] {
  if (/^(?:host|none|container:)/.test(String(NetworkMode))) return [];
  const bindings = Object.values(toObject(PortBindings)).flatMap((each) => toList<Json>(each));
  const addresses = new Set(bindings.map(({ HostIp }) => String(HostIp ?? '')));
  return [...addresses].filter((address) => !universalAddressPattern.test(address));
}

/**
 * Removes a new container's ports if the running container publishes no ports, for example in a macvlan network.
 * @param published - the ports in the running container's `NetworkSettings`
 */
export const removeUnpublishedPorts = (next: Json, { PortBindings }: Json, published: Json): Json =>
  isUnsetValue(PortBindings) || Object.values(published).some((each) => !isUnsetValue(each))
    ? next
    : { ...next, PortBindings: {} };
