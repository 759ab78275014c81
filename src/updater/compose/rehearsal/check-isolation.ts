import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ListedNetwork } from '../../../engine/containers/rehearsal-requests.ts';
import { isUnsetValue, type Json, toList, toObject, toStrings } from '../../../engine/objects/json.ts';
import { rehearsalLabel } from '../../../engine/objects/labels.ts';
import {
  allowedCapabilities,
  allowedUlimits,
  droppedCapabilities,
  normalizeCapability,
  proxyVariable,
} from './rehearsal-project.ts';

interface IsolationInput {
  token: string;
  /** Host paths of the copies. No other path may be mounted. */
  copies: readonly string[];
  /** Networks of the rehearsal, as the engine reports them. */
  networks: readonly ListedNetwork[];
}

const anonymousVolume = /^[0-9a-f]{64}$/;
/** Keys of `HostConfig` that must be unset. */
const unsetKeys =
  'Privileged PublishAllPorts PortBindings VolumesFrom Devices DeviceRequests DeviceCgroupRules Links ExtraHosts PidMode UTSMode UsernsMode Sysctls VolumeDriver CgroupParent'.split(
    ' ',
  );

/**
 * Checks the engine's inspections of the created containers: none may reach this machine, the instance or another
 * network.
 * @throws UpdateError rehearsal-unsupported
 */
export function requireIsolation(containers: readonly Json[], input: IsolationInput): void {
  const found = [
    ...containers.flatMap((raw) =>
      listContainerLeaks(raw, input).map((leak) => `${String(raw.Name).slice(1)} is not isolated: ${leak}`),
    ),
    ...input.networks.flatMap((network) =>
      isIsolatedNetwork(network, input.token) ? [] : [`the network ${network.name} is not isolated`],
    ),
  ];
  if (found.length === 0) return;
  throw new UpdateError('rehearsal-unsupported', found.at(-1) ?? '', { detail: found.slice(0, -1) });
}

const isIsolatedNetwork = (
  { token: networkToken, isInternal, hasIpv6, options }: ListedNetwork,
  token: string,
): boolean =>
  networkToken === token &&
  isInternal &&
  !hasIpv6 &&
  options['com.docker.network.bridge.gateway_mode_ipv4'] === 'isolated';

function listContainerLeaks(raw: Json, { token, copies, networks }: IsolationInput): string[] {
  const [config, host] = [toObject(raw.Config), toObject(raw.HostConfig)];
  const names = networks.map(({ name }) => name);
  const joined = Object.keys(toObject(toObject(raw.NetworkSettings).Networks));
  const mode = String(host.NetworkMode);
  const dropped = toStrings(host.CapDrop).map(normalizeCapability);
  const added = toStrings(host.CapAdd).map(normalizeCapability);
  const mounts = toList<Json>(raw.Mounts).filter((mount) => !isAllowedMount(mount, copies));
  const isOwnNetworkMode = mode === 'none' || names.includes(mode);
  const checks: [isSafe: boolean, leak: string][] = [
    ...unsetKeys.map((key): [boolean, string] => [isUnsetValue(host[key]), `HostConfig.${key}`]),
    [!/^(?:host$|container:)/.test(String(host.IpcMode)), 'IpcMode'],
    [
      isOwnNetworkMode && joined.every((name) => names.includes(name) || name === 'none'),
      'a network outside the rehearsal',
    ],
    [added.every((name) => allowedCapabilities.has(name)), 'CapAdd'],
    [dropped.includes('ALL') || droppedCapabilities.every((name) => dropped.includes(name)), 'CapDrop'],
    [toStrings(host.SecurityOpt).every((option) => option.startsWith('no-new-privileges')), 'SecurityOpt'],
    [toList<Json>(host.Ulimits).every(({ Name }) => allowedUlimits.has(String(Name))), 'Ulimits'],
    [!toStrings(config.Env).some(isProxyVariable), 'a variable for a proxy'],
    [toObject(host.RestartPolicy).Name === 'no', 'RestartPolicy'],
    [toObject(config.Labels)[rehearsalLabel] === token, 'its label is missing'],
    ...mounts.map(({ Destination }): [boolean, string] => [false, `the mount at ${Destination}`]),
  ];
  return checks.flatMap(([isSafe, leak]) => (isSafe ? [] : [leak]));
}

const isProxyVariable = (entry: string): boolean => {
  const [name = '', value = ''] = entry.split(/=(.*)/s, 2);
  return value !== '' && proxyVariable.test(name);
};

const isAllowedMount = ({ Type, Source, Name, Driver }: Json, copies: readonly string[]): boolean =>
  Type === 'tmpfs' ||
  (Type === 'bind' && copies.includes(String(Source))) ||
  (Type === 'volume' && Driver === 'local' && anonymousVolume.test(String(Name)));
