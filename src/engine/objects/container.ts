import type { Mount } from '../../core/mounts/host-paths.ts';
import { toHealthCheck } from './health-check.ts';
import { requireNonEmptyString } from './json.ts';
import { composeLabels } from './labels.ts';
import { normalizePlatform } from './platform.ts';

/** A mount and the location of its data. */
export interface StorageMount extends Mount {
  /** Path on the host; for a volume, the path of its root. Empty if the storage has no path on the host. */
  path: string;
  /** Mounted directory of the volume; empty if the whole volume is mounted. */
  subpath: string;
  /** Driver of the volume; empty for other mounts. */
  driver: string;
}

export interface Container extends ReturnType<typeof toContainer> {}

export interface ListedContainer extends ReturnType<typeof toListedContainer> {}

export interface Image extends ReturnType<typeof toImage> {
  /**
   * Whether it is unknown which of the image's digests belongs to its tag. Podman may report several digests for an
   * image.
   */
  isUnclear?: boolean;
}

const neverStarted = '0001-01-01T00:00:00Z';

/** Checks whether a container has ever been started. If not, the engine reports a zero time. */
export const hasStarted = (container: Container): boolean =>
  container.startedAt !== neverStarted && container.startedAt !== '';

/** Checks whether a container is running. Paused and restarting containers count, because they are meant to run. */
export const isUp = (container: Pick<Container, 'status'>): boolean =>
  ['running', 'restarting', 'paused'].includes(container.status);

export const hasSucceeded = ({ status, exitCode }: Container): boolean =>
  status === 'exited' && exitCode === 0;

export const serviceOf = (container: Pick<Container, 'labels'>): string =>
  container.labels[composeLabels.service] ?? '';

/** Returns a container's number within its service. Compose keeps the number when it replaces the container. */
export const containerNumberOf = (container: Pick<Container, 'labels'>): number =>
  Number(container.labels[composeLabels.number] ?? 0);

export const compareContainerNumbers = (a: Container, b: Container): number =>
  containerNumberOf(a) - containerNumberOf(b);

// biome-ignore lint/suspicious/noExplicitAny: the engine's answer, read with care below
type Raw = any;
type Labels = Readonly<Record<string, string>>;

const toNonEmptyTexts = (list: readonly unknown[] | null | undefined): string[] =>
  (list ?? []).filter(Boolean).map(String);

/** Parses `KEY=value` entries. An entry without `=` is skipped, because it unsets a variable of the image. */
export const parseEnvironment = (list: readonly string[] | null | undefined): Map<string, string> =>
  new Map(
    (list ?? []).flatMap((entry) => {
      const at = entry.indexOf('=');
      return at < 0 ? [] : [[entry.slice(0, at), entry.slice(at + 1)] as const];
    }),
  );

const anonymous = /^[0-9a-f]{64}$/;

/** The engine's default stop timeout in seconds, for containers without a `StopTimeout`. */
const defaultStopTimeout = 10;

/**
 * Returns the seconds between the stop signal and SIGKILL; Infinity for a negative `StopTimeout`, which disables
 * SIGKILL.
 */
const stopTimeoutOf = (config: Raw): number => {
  const given = Number(config.StopTimeout ?? defaultStopTimeout);
  return given < 0 ? Number.POSITIVE_INFINITY : given;
};

/** Returns the mounts in `Binds` and `Mounts` of a `HostConfig`, without anonymous volumes. */
export function requestedMountsOf(host: Raw): Mount[] {
  const binds = ((host.Binds ?? []) as string[]).map((bind) => {
    const [source = '', destination = '', mode = ''] = bind.split(':');
    return {
      type: source.startsWith('/') ? 'bind' : 'volume',
      source,
      destination,
      writable: !mode.split(',').includes('ro'),
    };
  });
  const mounts = ((host.Mounts ?? []) as Raw[]).map((mount) => ({
    type: String(mount.Type),
    source: String(mount.Source ?? ''),
    destination: String(mount.Target),
    writable: !mount.ReadOnly,
  }));
  return [...binds, ...mounts].filter((mount) => mount.source !== '' && !anonymous.test(mount.source));
}

/** Maps Podman's additional statuses to Docker's. */
const statuses: Readonly<Record<string, string>> = {
  ...{ stopped: 'exited', stopping: 'running', configured: 'created', initialized: 'created' },
};
export const toContainerStatus = (status: unknown): string =>
  statuses[String(status)] ?? String(status ?? '');

export function toContainer(raw: Raw) {
  const {
    State: state = {},
    Config: config = {},
    HostConfig: host = {},
    NetworkSettings: network = {},
  } = raw;
  const log = (state.Health?.Log ?? []) as Raw[];
  const endpoints = Object.values<Raw>(network.Networks ?? {}).map((endpoint) => endpoint ?? {});
  return {
    /** Id of the container, 64 hexadecimal digits. */
    id: String(raw.Id),
    name: String(raw.Name ?? '').replace(/^\//, ''),
    /**
     * Id of the local image, `sha256:…`. It is an index digest with the containerd image store, otherwise a
     * configuration digest.
     */
    imageId: String(raw.Image ?? ''),
    /**
     * Digest of the image manifest for the container's platform; null if the engine does not report it. Unlike the
     * digest of an index, it does not depend on attestations.
     */
    imageManifest: manifestDigestOf(raw),
    /** Platform of the container, such as `linux/arm64`; null if the engine does not report it. */
    platform: platformOf(raw.ImageManifestDescriptor?.platform),
    /** Image reference from which the container was created. */
    imageReference: String(config.Image ?? ''),
    labels: (config.Labels ?? {}) as Labels,
    env: parseEnvironment(config.Env),
    status: toContainerStatus(state.Status),
    /** Time in ISO 8601, like `startedAt` and `finishedAt`. */
    createdAt: String(raw.Created ?? ''),
    startedAt: String(state.StartedAt ?? ''),
    finishedAt: String(state.FinishedAt ?? ''),
    /** Command arguments after the entrypoint. */
    args: (config.Cmd ?? []) as readonly string[],
    exitCode: Number(state.ExitCode ?? 0),
    error: String(state.Error ?? ''),
    restartCount: Number(raw.RestartCount ?? 0),
    restartPolicy: String(host.RestartPolicy?.Name || 'no'),
    stopTimeout: stopTimeoutOf(config),
    /** Health status: `healthy`, `unhealthy` or `starting`; null if the container has no health check. */
    health: state.Health?.Status && state.Health.Status !== 'none' ? String(state.Health.Status) : null,
    lastHealthOutput: String(log.at(-1)?.Output ?? ''),
    healthCheck: toHealthCheck(config.Healthcheck ?? {}, log),
    /** All mounts of the container, requested or not; the `source` of a volume is its name. */
    mounts: ((raw.Mounts ?? []) as Raw[]).map(readMount),
    /** All mounts, including tmpfs mounts, with the location of their data. */
    storage: storageOf(raw.Mounts ?? [], host),
    requestedMounts: requestedMountsOf(host),
    published: listPublishedPorts(network.Ports ?? {}),
    networks: Object.keys(network.Networks ?? {}),
    addresses: addressesOf(config, endpoints),
    /** IP addresses of the running container. */
    ips: toNonEmptyTexts(
      endpoints.flatMap(({ IPAddress, GlobalIPv6Address }) => [IPAddress, GlobalIPv6Address]),
    ),
    /** Links to other containers, such as `svc-db-1:database`. */
    links: toNonEmptyTexts([...(host.Links ?? []), ...endpoints.flatMap(({ Links }) => Links ?? [])]),
    /** Additional entries of the hosts file, such as `database:10.0.0.5`. */
    extraHosts: toNonEmptyTexts(host.ExtraHosts),
    networkMode: String(host.NetworkMode ?? ''),
    pidMode: String(host.PidMode ?? ''),
    ipcMode: String(host.IpcMode ?? ''),
    /** Host directory of the container's writable layer; null if the engine does not report it. */
    upperDir: (raw.GraphDriver?.Data?.UpperDir ?? null) as string | null,
  };
}

/** Converts an element of the engine's container list. @throws TypeError if the element is not a container */
export function toListedContainer(raw: unknown) {
  const { Id, Names, State, Image, ImageID, Labels, HostConfig } = Object(raw);
  return {
    /** Id of the container, 64 hexadecimal digits. */
    id: requireNonEmptyString(Id),
    name: String(Names?.[0] ?? '').replace(/^\//, ''),
    status: toContainerStatus(State),
    imageId: String(ImageID ?? ''),
    /**
     * Image reference from which the container was created; the image id if the reference now points to another image.
     */
    imageReference: String(Image ?? ''),
    labels: (Labels ?? {}) as Labels,
    /** `container:<id>` if the container uses another container's network. */
    networkMode: String(HostConfig?.NetworkMode ?? ''),
  };
}

const readMount = (mount: Raw): Mount => ({
  type: String(mount.Type),
  source: String(mount.Type === 'volume' ? mount.Name : (mount.Source ?? '')),
  destination: String(mount.Destination),
  writable: Boolean(mount.RW),
});

function storageOf(mounts: readonly Raw[], host: Raw): StorageMount[] {
  const requested = (host.Mounts ?? []) as Raw[];
  const subpathAt = (path: string): string =>
    String(requested.find(({ Target }) => Target === path)?.VolumeOptions?.Subpath ?? '');
  const inMemory = Object.keys(host.Tmpfs ?? {}).map((destination) => ({
    type: 'tmpfs',
    source: '',
    path: '',
    subpath: '',
    driver: '',
    destination,
    writable: true,
  }));
  const others = mounts.map((mount) => ({
    ...readMount(mount),
    path: String(mount.Source ?? ''),
    subpath: subpathAt(String(mount.Destination)),
    driver: String(mount.Driver ?? ''),
  }));
  return [...others, ...inMemory];
}

/** Returns the host name, aliases and addresses by which other containers in its networks can reach a container. */
const addressesOf = (config: Raw, endpoints: readonly Raw[]): string[] =>
  toNonEmptyTexts([
    config.Hostname,
    ...endpoints.flatMap(({ Aliases, DNSNames, IPAddress, GlobalIPv6Address }) => [
      ...[...(Aliases ?? []), ...(DNSNames ?? [])],
      ...[IPAddress, GlobalIPv6Address],
    ]),
  ]);

/**
 * Lists the container ports that are published on the host, such as `8080/tcp`.
 * @param ports - `NetworkSettings.Ports` of an inspection; a port without bindings is exposed, but not published
 */
export const listPublishedPorts = (ports: Raw): string[] =>
  Object.entries(ports as Record<string, Raw[] | null>).flatMap(([target, bindings]) =>
    bindings && bindings.length > 0 ? [target] : [],
  );

export function toImage(raw: Raw) {
  const own = platformOf({ os: raw.Os, architecture: raw.Architecture });
  // Omit manifests of other kinds, such as attestations, because they cannot be run.
  const manifests = (raw.Manifests as Raw[] | undefined)?.filter(({ Kind }) => Kind === 'image');
  const here = manifests?.filter(({ Available }) => Available) ?? [];
  const platforms = (list: readonly Raw[]) =>
    list.flatMap(({ ImageData }) => platformOf(ImageData?.Platform) ?? []);
  return {
    id: String(raw.Id),
    /** Digests of the local platform manifests; empty if the engine does not report them. */
    manifests: toNonEmptyTexts(here.map(({ ID }) => ID)),
    /**
     * Platforms of the image that are stored locally. If the engine reports no manifests, this is the platform of the
     * image's configuration.
     */
    platforms: manifests ? platforms(here) : [own ?? []].flat(),
    /** Platform in the image's configuration; null if there is none. */
    platform: own,
    digests: toNonEmptyTexts(raw.RepoDigests),
    labels: (raw.Config?.Labels ?? {}) as Labels,
    env: parseEnvironment(raw.Config?.Env),
    /**
     * Configuration that containers inherit; null if the image has no local content for the engine's platform. In this
     * case, the containerd store reports an empty `Config` and `Os`.
     */
    config: (raw.Os === '' ? null : (raw.Config ?? {})) as Readonly<Record<string, unknown>> | null,
    /** Size in bytes. */
    size: Number(raw.Size ?? 0),
  };
}

/** Returns the image manifest's digest from a container's inspection; null if the engine does not report it. */
export const manifestDigestOf = (raw: Raw): string | null => raw.ImageManifestDescriptor?.digest ?? null;

const platformOf = ({ os, architecture }: Raw = {}): string | null =>
  os && architecture ? normalizePlatform(`${os}/${architecture}`) : null;

/** Keys of `HostConfig` whose value may be `container:<id>`, to share the namespace of another container. */
export const namespaceModeKeys = ['NetworkMode', 'PidMode', 'IpcMode'] as const;

/** Returns the id or name in a mode like `container:<id>`; null for other modes. */
export const findNamespaceContainer = (mode: unknown): string | null =>
  /^container:(.+)$/.exec(String(mode))?.[1] ?? null;
