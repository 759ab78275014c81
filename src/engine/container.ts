import type { Mount } from '../core/files/host-paths.ts';
import { readHealthCheck } from './health-check.ts';
import { textOf } from './json.ts';
import { composeLabels } from './labels.ts';
import { readPlatform } from './platform.ts';

/** A mount with its storage, as inspection reports it. */
export interface StorageMount extends Mount {
  /** On the host; of a volume, its root. Empty if it has none there. */
  path: string;
  /** The folder of a volume that is mounted; empty for all of it. */
  subpath: string;
  /** Of a volume. */
  driver: string;
}

export interface Container extends ReturnType<typeof readContainer> {}

/** What a list tells of a container. */
export interface ListedContainer extends ReturnType<typeof readListed> {}

export interface Image extends ReturnType<typeof readImage> {
  /** Podman has several digests of one image, and does not tell which one its tag leads to. */
  isUnclear?: boolean;
}

const neverStarted = '0001-01-01T00:00:00Z';

/** How the engine records that a container has run: its start time is not zero. */
export const hasStarted = (container: Container): boolean =>
  container.startedAt !== neverStarted && container.startedAt !== '';

/** Paused and restarting containers are meant to run, too. */
export const isUp = (container: Pick<Container, 'status'>): boolean =>
  ['running', 'restarting', 'paused'].includes(container.status);

/** Exited with code 0 on its own. */
export const hasEndedWell = ({ status, exitCode }: Container): boolean =>
  status === 'exited' && exitCode === 0;

export const serviceOf = (container: Pick<Container, 'labels'>): string =>
  container.labels[composeLabels.service] ?? '';

/** Among the containers of its service; compose keeps it when it replaces one. */
export const numberOf = (container: Pick<Container, 'labels'>): number =>
  Number(container.labels[composeLabels.number] ?? 0);

export const byNumber = (a: Container, b: Container): number => numberOf(a) - numberOf(b);

// biome-ignore lint/suspicious/noExplicitAny: the engine's answer, read with care below
type Raw = any;
type Labels = Readonly<Record<string, string>>;

/** Without empty ones. */
const texts = (list: readonly unknown[] | null | undefined): string[] =>
  (list ?? []).filter(Boolean).map(String);

/** Variables with a value; a key alone takes one of the image away. */
export const environment = (list: readonly string[] | null | undefined): Map<string, string> =>
  new Map(
    (list ?? []).flatMap((entry) => {
      const at = entry.indexOf('=');
      return at < 0 ? [] : [[entry.slice(0, at), entry.slice(at + 1)] as const];
    }),
  );

const anonymous = /^[0-9a-f]{64}$/;

/** The engine's own, where a container says nothing. */
const defaultStopTimeout = 10;

/** Seconds between the polite and the hard end of a stop; Infinity where it is never ended hard (a negative number). */
const stopTimeoutOf = (config: Raw): number => {
  const given = Number(config.StopTimeout ?? defaultStopTimeout);
  return given < 0 ? Number.POSITIVE_INFINITY : given;
};

/** What a `HostConfig` asks for, in both of its lists, without anonymous volumes. */
export function requestedMounts(host: Raw): Mount[] {
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

/** Podman has more words for it. */
const statuses: Readonly<Record<string, string>> = {
  ...{ stopped: 'exited', stopping: 'running', configured: 'created', initialized: 'created' },
};
export const statusOf = (status: unknown): string => statuses[String(status)] ?? String(status ?? '');

export function readContainer(raw: Raw) {
  const {
    State: state = {},
    Config: config = {},
    HostConfig: host = {},
    NetworkSettings: network = {},
  } = raw;
  const log = (state.Health?.Log ?? []) as Raw[];
  const endpoints = Object.values<Raw>(network.Networks ?? {}).map((endpoint) => endpoint ?? {});
  return {
    /** 64 hex digits. */
    id: String(raw.Id),
    name: String(raw.Name ?? '').replace(/^\//, ''),
    /** The local image's id, `sha256:…`: with the containerd store the digest of an index, with the others of a configuration. */
    imageId: String(raw.Image ?? ''),
    /** The digest of its platform's manifest, which no attestation changes; null if the engine does not report it. */
    imageManifest: manifestOf(raw),
    /** `linux/arm64`; null if the engine does not report it. */
    platform: platformOf(raw.ImageManifestDescriptor?.platform),
    /** The reference it was created from. */
    imageReference: String(config.Image ?? ''),
    labels: (config.Labels ?? {}) as Labels,
    env: environment(config.Env),
    status: statusOf(state.Status),
    /** ISO 8601, as all its times. */
    createdAt: String(raw.Created ?? ''),
    startedAt: String(state.StartedAt ?? ''),
    finishedAt: String(state.FinishedAt ?? ''),
    /** The arguments behind the entrypoint. */
    args: (config.Cmd ?? []) as readonly string[],
    exitCode: Number(state.ExitCode ?? 0),
    error: String(state.Error ?? ''),
    restartCount: Number(raw.RestartCount ?? 0),
    restartPolicy: String(host.RestartPolicy?.Name || 'no'),
    stopTimeout: stopTimeoutOf(config),
    /** `healthy`, `unhealthy`, `starting`, or null without a health check. */
    health: state.Health?.Status && state.Health.Status !== 'none' ? String(state.Health.Status) : null,
    lastHealthOutput: String(log.at(-1)?.Output ?? ''),
    healthCheck: readHealthCheck(config.Healthcheck ?? {}, log),
    /** What is mounted now. */
    mounts: ((raw.Mounts ?? []) as Raw[]).map(readMount),
    /** The same with their storage, and memory (tmpfs) as well. */
    storage: storageOf(raw.Mounts ?? [], host),
    requestedMounts: requestedMounts(host),
    published: publishedPorts(network.Ports ?? {}),
    networks: Object.keys(network.Networks ?? {}),
    addresses: addressesOf(config, endpoints),
    /** The addresses among them that the engine has assigned while it runs. */
    ips: texts(endpoints.flatMap(({ IPAddress, GlobalIPv6Address }) => [IPAddress, GlobalIPv6Address])),
    /** Its own names for other containers, `svc-db-1:database`. */
    links: texts([...(host.Links ?? []), ...endpoints.flatMap(({ Links }) => Links ?? [])]),
    /** Lines of its hosts file, `database:10.0.0.5`. */
    extraHosts: texts(host.ExtraHosts),
    networkMode: String(host.NetworkMode ?? ''),
    pidMode: String(host.PidMode ?? ''),
    ipcMode: String(host.IpcMode ?? ''),
    /** The directory of the host that its root writes to; null if the engine does not report it. */
    upperDir: (raw.GraphDriver?.Data?.UpperDir ?? null) as string | null,
  };
}

/** @throws TypeError if it is no container */
export function readListed(raw: unknown) {
  const { Id, Names, State, Image, ImageID, Labels, HostConfig } = Object(raw);
  return {
    /** 64 hex digits. */
    id: textOf(Id),
    name: String(Names?.[0] ?? '').replace(/^\//, ''),
    status: statusOf(State),
    imageId: String(ImageID ?? ''),
    /** The reference it was created from; its image's id where that names another image by now. */
    imageReference: String(Image ?? ''),
    labels: (Labels ?? {}) as Labels,
    /** `container:<id>` in another's network. */
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

/** By which containers in its networks reach it: its host name, aliases and addresses. */
const addressesOf = (config: Raw, endpoints: readonly Raw[]): string[] =>
  texts([
    config.Hostname,
    ...endpoints.flatMap(({ Aliases, DNSNames, IPAddress, GlobalIPv6Address }) => [
      ...[...(Aliases ?? []), ...(DNSNames ?? [])],
      ...[IPAddress, GlobalIPv6Address],
    ]),
  ]);

/** Ports that are open on the host now, `8080/tcp`. @param ports `NetworkSettings.Ports` of an inspection; a port that is only exposed has no bindings */
export const publishedPorts = (ports: Raw): string[] =>
  Object.entries(ports as Record<string, Raw[] | null>).flatMap(([target, bindings]) =>
    bindings && bindings.length > 0 ? [target] : [],
  );

export function readImage(raw: Raw) {
  const own = platformOf({ os: raw.Os, architecture: raw.Architecture });
  // What is said of an image, as an attestation is, is none that can run.
  const manifests = (raw.Manifests as Raw[] | undefined)?.filter(({ Kind }) => Kind === 'image');
  const here = manifests?.filter(({ Available }) => Available) ?? [];
  const platforms = (list: readonly Raw[]) =>
    list.flatMap(({ ImageData }) => platformOf(ImageData?.Platform) ?? []);
  return {
    id: String(raw.Id),
    /** Digests of its manifests for a platform that are here; none if the engine does not report it. */
    manifests: texts(here.map(({ ID }) => ID)),
    /** Those that are here of it; none if the engine does not report it. */
    platforms: manifests ? platforms(here) : [own ?? []].flat(),
    /** That whose configuration this is; null if there is none. */
    platform: own,
    digests: texts(raw.RepoDigests),
    labels: (raw.Config?.Labels ?? {}) as Labels,
    env: environment(raw.Config?.Env),
    /**
     * What it gives to its containers; null if the engine has nothing of it for its own platform, and cannot tell. An
     * engine with the containerd store tells an empty configuration then, and an empty system.
     */
    config: (raw.Os === '' ? null : (raw.Config ?? {})) as Readonly<Record<string, unknown>> | null,
    /** Bytes. */
    size: Number(raw.Size ?? 0),
  };
}

/** The digest of what a container runs, by its inspection; null if the engine does not report it. */
export const manifestOf = (raw: Raw): string | null => raw.ImageManifestDescriptor?.digest ?? null;

const platformOf = ({ os, architecture }: Raw = {}): string | null =>
  os && architecture ? readPlatform(`${os}/${architecture}`) : null;

/** Keys of `HostConfig` that may name a container whose namespace is shared. */
export const namespaceModes = ['NetworkMode', 'PidMode', 'IpcMode'] as const;

/** The container whose namespace a mode shares; null if it shares none. */
export const sharedContainer = (mode: unknown): string | null =>
  /^container:(.+)$/.exec(String(mode))?.[1] ?? null;
