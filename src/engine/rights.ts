import { posix } from 'node:path';
import { requestedMounts } from './container.ts';
import { type Json, list, object, strings } from './json.ts';

// The parts of a container's definition that give power over the host. An engine grants all of them to every client.
// What only takes less away (a file system that is no longer read-only, privileges that it may get anew) is no such power.

/** The two halves of a definition, as the engine inspects them and as `POST /containers/create` takes them. */
export interface DefinedContainer {
  config: Json;
  hostConfig: Json;
}

/** A power over the host. */
export interface Right {
  /** The word of a compose file that gives it: `privileged`, `cap_add`, `volumes`. */
  section: string;
  /** The path in the container of a mount or a device, else `''`. */
  item: string;
  /** For people: `capability SYS_ADMIN`, `the host's / at /host`. */
  name: string;
}

/** What a definition by itself does not tell. */
export interface RightsSurroundings {
  /**
   * Whether a path of the host, normalised, is the instance's own, so that to mount it gives no power over others. Who may
   * write to a directory may have made links in it that lead out.
   */
  isOwn: (path: string) => boolean;
  /** The options that a named volume's driver has, or would get; empty for a volume that is not known. */
  volumeOptions: (name: string) => Json;
}

/** Of an inspection, or of the body of `POST /containers/create`. */
export const definedIn = (raw: Json): DefinedContainer => ({
  config: object(raw.Config ?? raw),
  hostConfig: object(raw.HostConfig),
});

/** The rights that a container would gain. Both sides include the defaults of image and engine. */
export function gainedRights(
  now: DefinedContainer,
  then: DefinedContainer,
  surroundings: RightsSurroundings,
): Right[] {
  const [host, next] = [now.hostConfig, then.hostConfig];
  const isFree = host.Privileged === true;
  return [
    ...(next.Privileged === true && !isFree ? [right('privileged', 'privileged: true')] : []),
    ...gainedNamespaces(host, next),
    ...(isFree ? [] : [...gainedCapabilities(host, next), ...gainedDevices(host, next)]),
    ...(isFree ? [] : gainedProfiles(host, next)),
    ...gainedMounts(host, next, surroundings),
    ...gainedIdentity(now, then),
  ];
}

const right = (section: string, name: string, item = ''): Right => ({ section, item, name });

/** The texts of `then` that `now` does not have, each once. */
const added = (now: unknown, then: unknown): string[] => {
  const known = new Set(strings(now));
  return [...new Set(strings(then))].filter((each) => !known.has(each));
};

const namespaces = [
  ['network_mode', 'NetworkMode'],
  ['pid', 'PidMode'],
  ['ipc', 'IpcMode'],
  ['uts', 'UTSMode'],
  ['userns_mode', 'UsernsMode'],
  ['cgroup', 'CgroupnsMode'],
] as const;

/** Namespaces of the host, and of another container, which may share the host's in its turn. */
const gainedNamespaces = (now: Json, then: Json): Right[] =>
  namespaces.flatMap(([section, key]) => {
    const mode = String(then[key] ?? '');
    const isShared = /^(?:host$|container:|service:)/.test(mode);
    return isShared && mode !== now[key] ? [right(section, `${section}: ${mode}`)] : [];
  });

/** The capabilities that the engine gives where nothing is said, from moby's `oci/caps/defaults.go`. */
const defaultCapabilities = [
  ...['CHOWN', 'DAC_OVERRIDE', 'FSETID', 'FOWNER', 'MKNOD', 'NET_RAW', 'SETGID', 'SETUID', 'SETFCAP'],
  ...['SETPCAP', 'NET_BIND_SERVICE', 'SYS_CHROOT', 'KILL', 'AUDIT_WRITE'],
];

const named = (value: unknown): string[] =>
  strings(value).map((each) => each.toUpperCase().replace(/^CAP_/, ''));

/** `added` may be `ALL`, less what is `dropped`; by the rules of moby's `oci/caps/utils.go`. */
function capabilities(host: Json): { added: Set<string>; dropped: Set<string> } {
  const [wished, dropped] = [named(host.CapAdd), new Set(named(host.CapDrop))];
  if (wished.includes('ALL')) return { added: new Set(['ALL']), dropped };
  const given = dropped.has('ALL') ? [] : defaultCapabilities.filter((each) => !dropped.has(each));
  return { added: new Set([...given, ...wished]), dropped: new Set() };
}

function gainedCapabilities(now: Json, then: Json): Right[] {
  const [has, gets] = [capabilities(now), capabilities(then)];
  const isCovered = (name: string) => has.added.has(name) || (has.added.has('ALL') && !has.dropped.has(name));
  const gained = [...gets.added].filter((name) => !isCovered(name));
  // Where both definitions have all capabilities, the new one may drop fewer of them.
  const less = gets.added.has('ALL') && has.added.has('ALL') ? [...has.dropped] : [];
  const back = less.filter((name) => !gets.dropped.has(name));
  const isAsked = (name: string) => named(then.CapAdd).includes(name);
  return [...gained, ...back].map((name) =>
    right(isAsked(name) ? 'cap_add' : 'cap_drop', `capability ${name}`),
  );
}

function gainedDevices(now: Json, then: Json): Right[] {
  const devices = (host: Json) => [
    ...(list(host.Devices) as Json[]).map(({ PathOnHost, PathInContainer, CgroupPermissions }) => ({
      what: right('devices', `device ${PathOnHost}`, String(PathInContainer)),
      may: String(CgroupPermissions || 'rwm'),
    })),
    ...strings(host.DeviceCgroupRules).map((rule) => {
      const [, which = rule, may = 'rwm'] = /^(.*) ([rwm]+)$/.exec(rule) ?? [];
      return { what: right('device_cgroup_rules', `devices by the rule ${which}`), may };
    }),
  ];
  const known = devices(now);
  const isKnown = ({ what, may }: (typeof known)[number]) =>
    known.some((each) => each.what.name === what.name && [...may].every((way) => each.may.includes(way)));
  const requests = (host: Json) => (list(host.DeviceRequests) as Json[]).map(requestText);
  return [
    ...devices(then).flatMap((device) => (isKnown(device) ? [] : [device.what])),
    ...added(requests(now), requests(then)).map((text) => right('gpus', `devices of ${text}`)),
  ];
}

const requestText = ({ Driver, Count, DeviceIDs, Capabilities }: Json): string =>
  [Driver || 'any driver', Number(Count ?? 0) || '', ...strings(DeviceIDs), ...strings(Capabilities)]
    .filter((word) => word !== '')
    .join(' ');

/** A custom profile may confine nothing: it is a right unless the container has it already. */
function gainedProfiles(now: Json, then: Json): Right[] {
  const options = (host: Json) =>
    strings(host.SecurityOpt)
      .map((option) => option.replace(/^(label|apparmor|seccomp):/, '$1='))
      .filter((option) => /^(?:label|apparmor|seccomp|systempaths)=/.test(option) && !isDefault(option));
  const has = options(now);
  const profiles = added(has, options(then)).filter(
    (option) => !has.some((each) => isOff(each) && each.split('=')[0] === option.split('=')[0]),
  );
  const shown = profiles.map((option) => right('security_opt', option.replace(/^(seccomp=)\{.*/s, '$1…')));
  return [
    ...shown,
    ...(gainsSystemPaths(now, then) ? [right('security_opt', 'systempaths=unconfined')] : []),
  ];
}

const isDefault = (option: string): boolean =>
  ['apparmor=docker-default', 'seccomp=builtin', 'seccomp=default'].includes(option);
const isOff = (option: string): boolean => /=(?:unconfined|disable)$/.test(option);

/** Where a definition says nothing, the engine hides its own list of paths, and tells it only of a container that exists. */
const gainsSystemPaths = (now: Json, then: Json): boolean =>
  then.Privileged !== true &&
  ['MaskedPaths', 'ReadonlyPaths'].some((key) => {
    const [hidden, left] = [now[key], then[key]];
    if (!Array.isArray(left)) return false;
    if (!Array.isArray(hidden)) return left.length === 0;
    return hidden.some((path) => !left.includes(path));
  });

function gainedMounts(now: Json, then: Json, { isOwn, volumeOptions }: RightsSurroundings): Right[] {
  const read = (host: Json) => {
    const ownOptions = new Map(
      (list(host.Mounts) as Json[]).map(({ Target, VolumeOptions }) => [
        String(Target),
        object(object(object(VolumeOptions).DriverConfig).Options),
      ]),
    );
    return requestedMounts(host).map((mount) => {
      const { type, source, destination } = mount;
      const options = type === 'volume' ? { ...volumeOptions(source), ...ownOptions.get(destination) } : {};
      const path = type === 'bind' ? source : boundBy(options);
      return { ...mount, path: path === null ? null : withoutSlash(posix.normalize(path)), options };
    });
  };
  const known = read(now);
  const gained = read(then).flatMap(({ source, destination, writable, path, options }): Right[] => {
    // What lies in a mount is not covered by it: a link there may lead anywhere.
    const covers = (mount: (typeof known)[number]) =>
      (mount.writable || !writable) &&
      (path === null ? mount.source === source : mount.path === path || mount.path === '/');
    const isOwnPath = path === null ? !isOfMachine(options) : path !== '/' && isOwn(path);
    if (isOwnPath || known.some(covers)) return [];
    const what = path ?? `volume ${source} of ${options.device}`;
    const how = writable ? '' : ' (read-only)';
    return [right('volumes', `${what} of the host at ${destination}${how}`, destination)];
  });
  const others = added(now.VolumesFrom, then.VolumesFrom);
  return [...gained, ...others.map((from) => right('volumes_from', `the mounts of ${from}`))];
}

const withoutSlash = (path: string): string => path.replace(/(?<=.)\/+$/, '');

/** The directory of the host that a volume of the engine's own driver is; null if it is none. */
const boundBy = ({ o, type, device }: Json): string | null =>
  /(?:^|,)r?bind(?:,|$)/.test(String(o ?? '')) || type === 'bind' ? String(device ?? '') : null;

const ofNetwork = new Set(['nfs', 'nfs4', 'cifs', 'smb3', 'tmpfs']);
/** A disk of the host, or a layer over a directory of it. */
const isOfMachine = ({ type, device }: Json): boolean =>
  device !== undefined && !ofNetwork.has(String(type ?? ''));

/** The user and the groups, which decide what a container may do with its mounts. */
function gainedIdentity(now: DefinedContainer, then: DefinedContainer): Right[] {
  const user = ({ config }: DefinedContainer) => String(config.User ?? '').split(':');
  const isRoot = (definition: DefinedContainer) => ['', '0', 'root'].includes(user(definition)[0] ?? '');
  if (isRoot(now)) return [];
  const groups = (definition: DefinedContainer) => [
    ...user(definition).slice(1),
    ...strings(definition.hostConfig.GroupAdd),
  ];
  return [
    ...(isRoot(then) ? [right('user', 'user root')] : []),
    ...added([...groups(now), user(now)[0]], groups(then)).map((group) =>
      right('group_add', `group ${group}`),
    ),
  ];
}
