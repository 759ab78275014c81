import { posix } from 'node:path';
import { requestedMountsOf } from '../objects/container.ts';
import { type Json, toList, toObject, toStrings } from '../objects/json.ts';

// Privileges on the host that a container's definition can grant. The engine grants them to every client that requests
// them. The removal of a restriction, such as a read-only file system, is not reported.

/** Definition of a container, from an inspection or from the body of `POST /containers/create`. */
export interface ContainerDefinition {
  config: Json;
  hostConfig: Json;
}

export interface HostPrivilege {
  /** Compose key that grants the privilege: `privileged`, `cap_add`, `volumes`. */
  section: string;
  /** Path of the mount or device in the container; empty for other privileges. */
  item: string;
  /** Name in messages: `capability SYS_ADMIN`, `host path / mounted at /host`. */
  name: string;
}

/** Information about the instance and its volumes that a container's definition does not contain. */
export interface PrivilegeContext {
  /**
   * Checks whether a normalized host path belongs to the instance. Resolve symbolic links before the call, because they
   * may lead elsewhere.
   */
  isOwn: (path: string) => boolean;
  /** Returns the driver options of a named volume, even if it does not exist yet; empty if the volume is unknown. */
  volumeOptions: (name: string) => Json;
}

/** @param raw - an inspection, or the body of `POST /containers/create` */
export const containerDefinitionOf = (raw: Json): ContainerDefinition => ({
  config: toObject(raw.Config ?? raw),
  hostConfig: toObject(raw.HostConfig),
});

/**
 * Finds privileges on the host that `then` grants and `now` does not. Both definitions must include the defaults of the
 * image and the engine.
 */
export function findGainedPrivileges(
  now: ContainerDefinition,
  then: ContainerDefinition,
  surroundings: PrivilegeContext,
): HostPrivilege[] {
  const [host, next] = [now.hostConfig, then.hostConfig];
  const isFree = host.Privileged === true;
  return [
    ...(next.Privileged === true && !isFree ? [createPrivilege('privileged', 'privileged: true')] : []),
    ...findGainedNamespaces(host, next),
    ...(isFree ? [] : [...findGainedCapabilities(host, next), ...findGainedDevices(host, next)]),
    ...(isFree ? [] : findGainedProfiles(host, next)),
    ...findGainedMounts(host, next, surroundings),
    ...findGainedIdentity(now, then),
  ];
}

const createPrivilege = (section: string, name: string, item = ''): HostPrivilege => ({
  section,
  item,
  name,
});

/** Returns the strings in `then` that are not in `now`, without duplicates. */
const added = (now: unknown, then: unknown): string[] => {
  const known = new Set(toStrings(now));
  return [...new Set(toStrings(then))].filter((each) => !known.has(each));
};

const namespaces = [
  ['network_mode', 'NetworkMode'],
  ['pid', 'PidMode'],
  ['ipc', 'IpcMode'],
  ['uts', 'UTSMode'],
  ['userns_mode', 'UsernsMode'],
  ['cgroup', 'CgroupnsMode'],
] as const;

/** Sharing another container's namespace counts as a privilege, because that namespace may be the host's. */
const findGainedNamespaces = (now: Json, then: Json): HostPrivilege[] =>
  namespaces.flatMap(([section, key]) => {
    const mode = String(then[key] ?? '');
    const isShared = /^(?:host$|container:|service:)/.test(mode);
    return isShared && mode !== now[key] ? [createPrivilege(section, `${section}: ${mode}`)] : [];
  });

/** Capabilities that the engine grants by default, from moby's `oci/caps/defaults.go`. */
const defaultCapabilities = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FSETID', 'FOWNER', 'MKNOD', 'NET_RAW', 'SETGID', 'SETUID', 'SETFCAP'],
  ...['SETPCAP', 'NET_BIND_SERVICE', 'SYS_CHROOT', 'KILL', 'AUDIT_WRITE'],
];

const named = (value: unknown): string[] =>
  toStrings(value).map((each) => each.toUpperCase().replace(/^CAP_/, ''));

/**
 * Returns a container's capabilities by the rules of moby's `oci/caps/utils.go`. If `added` is `ALL`, the container has
 * all capabilities except those in `dropped`.
 */
function capabilities(host: Json): { added: Set<string>; dropped: Set<string> } {
  const [wished, dropped] = [named(host.CapAdd), new Set(named(host.CapDrop))];
  if (wished.includes('ALL')) return { added: new Set(['ALL']), dropped };
  const given = dropped.has('ALL') ? [] : defaultCapabilities.filter((each) => !dropped.has(each));
  return { added: new Set([...given, ...wished]), dropped: new Set() };
}

function findGainedCapabilities(now: Json, then: Json): HostPrivilege[] {
  const [has, gets] = [capabilities(now), capabilities(then)];
  const isCovered = (name: string) => has.added.has(name) || (has.added.has('ALL') && !has.dropped.has(name));
  const gained = [...gets.added].filter((name) => !isCovered(name));
  // If both definitions add `ALL`, the new one gains each capability that only the old one drops.
  const less = gets.added.has('ALL') && has.added.has('ALL') ? [...has.dropped] : [];
  const back = less.filter((name) => !gets.dropped.has(name));
  const isAsked = (name: string) => named(then.CapAdd).includes(name);
  return [...gained, ...back].map((name) =>
    createPrivilege(isAsked(name) ? 'cap_add' : 'cap_drop', `capability ${name}`),
  );
}

function findGainedDevices(now: Json, then: Json): HostPrivilege[] {
  const devices = (host: Json) => [
    ...(toList(host.Devices) as Json[]).map(({ PathOnHost, PathInContainer, CgroupPermissions }) => ({
      what: createPrivilege('devices', `device ${PathOnHost}`, String(PathInContainer)),
      may: String(CgroupPermissions || 'rwm'),
    })),
    ...toStrings(host.DeviceCgroupRules).map((rule) => {
      const [, which = rule, may = 'rwm'] = /^(.*) ([rwm]+)$/.exec(rule) ?? [];
      return { what: createPrivilege('device_cgroup_rules', `devices that match the rule ${which}`), may };
    }),
  ];
  const known = devices(now);
  const isKnown = ({ what, may }: (typeof known)[number]) =>
    known.some((each) => each.what.name === what.name && [...may].every((way) => each.may.includes(way)));
  const requests = (host: Json) => (toList(host.DeviceRequests) as Json[]).map(requestText);
  return [
    ...devices(then).flatMap((device) => (isKnown(device) ? [] : [device.what])),
    ...added(requests(now), requests(then)).map((text) => createPrivilege('gpus', `devices of ${text}`)),
  ];
}

const requestText = ({ Driver, Count, DeviceIDs, Capabilities }: Json): string =>
  [Driver || 'any driver', Number(Count ?? 0) || '', ...toStrings(DeviceIDs), ...toStrings(Capabilities)]
    .filter((word) => word !== '')
    .join(' ');

/** A custom security profile may confine nothing, so it counts as a privilege unless the container already has it. */
function findGainedProfiles(now: Json, then: Json): HostPrivilege[] {
  const options = (host: Json) =>
    toStrings(host.SecurityOpt)
      .map((option) => option.replace(/^(label|apparmor|seccomp):/, '$1='))
      .filter((option) => /^(?:label|apparmor|seccomp|systempaths)=/.test(option) && !isDefault(option));
  const has = options(now);
  const profiles = added(has, options(then)).filter(
    (option) => !has.some((each) => isOff(each) && each.split('=')[0] === option.split('=')[0]),
  );
  const shown = profiles.map((option) =>
    createPrivilege('security_opt', option.replace(/^(seccomp=)\{.*/s, '$1…')),
  );
  return [
    ...shown,
    ...(gainsSystemPaths(now, then) ? [createPrivilege('security_opt', 'systempaths=unconfined')] : []),
  ];
}

const isDefault = (option: string): boolean =>
  ['apparmor=docker-default', 'seccomp=builtin', 'seccomp=default'].includes(option);
const isOff = (option: string): boolean => /=(?:unconfined|disable)$/.test(option);

/**
 * Checks whether system paths that are hidden now become visible. If a definition has no list of hidden paths, the
 * engine uses its default list, which it reports only for existing containers.
 */
const gainsSystemPaths = (now: Json, then: Json): boolean =>
  then.Privileged !== true &&
  ['MaskedPaths', 'ReadonlyPaths'].some((key) => {
    const [hidden, left] = [now[key], then[key]];
    if (!Array.isArray(left)) return false;
    if (!Array.isArray(hidden)) return left.length === 0;
    return hidden.some((path) => !left.includes(path));
  });

function findGainedMounts(
  now: Json,
  then: Json,
  { isOwn, volumeOptions }: PrivilegeContext,
): HostPrivilege[] {
  const read = (host: Json) => {
    const ownOptions = new Map(
      (toList(host.Mounts) as Json[]).map(({ Target, VolumeOptions }) => [
        String(Target),
        toObject(toObject(toObject(VolumeOptions).DriverConfig).Options),
      ]),
    );
    return requestedMountsOf(host).map((mount) => {
      const { type, source, destination } = mount;
      const options = type === 'volume' ? { ...volumeOptions(source), ...ownOptions.get(destination) } : {};
      const path = type === 'bind' ? source : boundDirectoryOf(options);
      return { ...mount, path: path === null ? null : withoutSlash(posix.normalize(path)), options };
    });
  };
  const known = read(now);
  const gained = read(then).flatMap(({ source, destination, writable, path, options }): HostPrivilege[] => {
    // An existing mount of a directory does not cover a new mount below it, because a link in the directory may point
    // anywhere.
    const covers = (mount: (typeof known)[number]) =>
      (mount.writable || !writable) &&
      (path === null ? mount.source === source : mount.path === path || mount.path === '/');
    const isOwnPath = path === null ? !isHostDevice(options) : path !== '/' && isOwn(path);
    if (isOwnPath || known.some(covers)) return [];
    const what = path === null ? `volume ${source} (device ${options.device})` : `host path ${path}`;
    const how = writable ? '' : ' (read-only)';
    return [createPrivilege('volumes', `${what} mounted at ${destination}${how}`, destination)];
  });
  const others = added(now.VolumesFrom, then.VolumesFrom);
  return [...gained, ...others.map((from) => createPrivilege('volumes_from', `the mounts of ${from}`))];
}

const withoutSlash = (path: string): string => path.replace(/(?<=.)\/+$/, '');

/** Returns the host directory that a volume of the driver `local` mounts; null if it mounts none. */
const boundDirectoryOf = ({ o, type, device }: Json): string | null =>
  /(?:^|,)r?bind(?:,|$)/.test(String(o ?? '')) || type === 'bind' ? String(device ?? '') : null;

const ofNetwork = new Set(['nfs', 'nfs4', 'cifs', 'smb3', 'tmpfs']);
/** Checks whether a volume is a host disk, or an overlay over a host directory. */
const isHostDevice = ({ type, device }: Json): boolean =>
  device !== undefined && !ofNetwork.has(String(type ?? ''));

/** The user and the groups count as privileges, because they determine what a container may do with its mounts. */
function findGainedIdentity(now: ContainerDefinition, then: ContainerDefinition): HostPrivilege[] {
  const user = ({ config }: ContainerDefinition) => String(config.User ?? '').split(':');
  const isRoot = (definition: ContainerDefinition) => ['', '0', 'root'].includes(user(definition)[0] ?? '');
  if (isRoot(now)) return [];
  const groups = (definition: ContainerDefinition) => [
    ...user(definition).slice(1),
    ...toStrings(definition.hostConfig.GroupAdd),
  ];
  return [
    ...(isRoot(then) ? [createPrivilege('user', 'user root')] : []),
    ...added([...groups(now), user(now)[0]], groups(then)).map((group) =>
      createPrivilege('group_add', `group ${group}`),
    ),
  ];
}
