import { posix } from 'node:path';
import type { Engine } from '../cli/engine.ts';
import { isVersionAtLeast } from '../http/api-version.ts';
import { listPublishedPorts, manifestDigestOf } from '../objects/container.ts';
import { type Json, toList, toObject, toStrings } from '../objects/json.ts';
import { type CopiedFile, readCopiedFiles } from './copied-files.ts';

/**
 * Settings for recreating a container, from the engine's inspection. Never log them, because they include the values of
 * environment variables.
 */
export interface ContainerSnapshot {
  /** Id of the container, 64 hexadecimal digits. */
  id: string;
  name: string;
  /** Id of the local image, `sha256:…`. */
  imageId: string;
  /**
   * Digest of the image manifest that the container used; null if the engine did not report it. Missing in journals of
   * earlier updater versions.
   */
  imageManifest?: string | null;
  /** Image reference from which the container was created. */
  imageReference: string;
  /**
   * Platform of the image manifest that the container used, such as `linux/arm64/v8`; null if the engine did not report
   * the manifest. The image id is not sufficient, because it may stand for several platforms.
   */
  platform: string | null;
  config: Json;
  hostConfig: Json;
  /** Requested endpoint settings, keyed by network name. Empty if the container has no network of its own. */
  networks: Record<string, Json>;
  /**
   * Container ports published on the host at the time of the snapshot, such as `8080/tcp`. Missing in journals of
   * earlier updater versions.
   */
  published?: readonly string[];
  /** Files that compose has copied into the container's own file system. */
  copied: CopiedFile[];
  /** Paths of copied files that this snapshot lacks, because they are too big or not regular files. */
  lost: string[];
}

/**
 * Takes snapshots of all containers that exist. Call this while the containers are running: for a stopped container,
 * the engine does not report the MAC addresses of additional networks.
 * @param copied - paths to which compose may have copied files, keyed by container id; see `listCopiedPaths`
 * @throws UpdateError engine-unavailable
 */
export async function takeContainerSnapshots(
  engine: Engine,
  ids: readonly string[],
  copied: ReadonlyMap<string, readonly string[]> = new Map(),
): Promise<ContainerSnapshot[]> {
  const snapshots: ContainerSnapshot[] = [];
  for (const raw of await engine.inspectRaw(ids)) {
    const snapshot = toContainerSnapshot(raw, engine.apiVersion);
    const mounted = new Set(
      toList<Json>(raw.Mounts).map(({ Destination }) => normalizeContainerPath(String(Destination))),
    );
    const paths = (copied.get(snapshot.id) ?? []).filter(
      (path) => !mounted.has(normalizeContainerPath(path)),
    );
    snapshots.push({ ...snapshot, ...(await readCopiedFiles(engine, snapshot.id, paths)) });
  }
  return snapshots;
}

/**
 * @param raw - response to `GET /containers/<id>/json`, or an element of `docker inspect`
 * @param apiVersion - API version of the response, such as `1.45`; empty if unknown
 */
export function toContainerSnapshot(raw: unknown, apiVersion = ''): ContainerSnapshot {
  const { Id, Name, Image, Config, HostConfig, NetworkSettings, Mounts, ImageManifestDescriptor } =
    raw as Json;
  const [id, config, host] = [String(Id), toObject(Config), toObject(HostConfig)];
  const mode = String(host.NetworkMode ?? '');
  return {
    id,
    name: String(Name).replace(/^\//, ''),
    imageId: String(Image),
    imageManifest: manifestDigestOf(raw),
    imageReference: String(config.Image),
    platform: platformOf(toObject(toObject(ImageManifestDescriptor).platform)),
    config: configOf(config, { id, mode, uts: String(host.UTSMode ?? '') }),
    hostConfig: { ...host, ...storageOf(host, toList(Mounts) as Json[]) },
    networks: networksOf(toObject(toObject(NetworkSettings).Networks), {
      id,
      mode,
      // Before API 1.52, `config.MacAddress` is the MAC address that was requested for the first network. Since 1.52,
      // the engine does not report the requested address.
      mac: isVersionAtLeast(apiVersion, '1.52') ? null : String(config.MacAddress ?? ''),
    }),
    published: listPublishedPorts(toObject(toObject(NetworkSettings).Ports)),
    copied: [],
    lost: [],
  };
}

/**
 * Returns the configuration for recreating a container. It may contain values from the image. They are harmless,
 * because the engine merges the same values into it again.
 */
function configOf(config: Json, { id, mode, uts }: { id: string; mode: string; uts: string }): Json {
  // The MAC address is part of the endpoint settings, see `networksOf`.
  const { MacAddress: _, ...kept } = config;
  // The default host name is derived from the old container's id. A container in the host's UTS namespace must not have
  // a host name.
  if (kept.Hostname === id.slice(0, 12) || uts === 'host') delete kept.Hostname;
  // Podman also reports the default host name as the variable HOSTNAME.
  if (Array.isArray(kept.Env)) kept.Env = kept.Env.filter((entry) => entry !== `HOSTNAME=${id.slice(0, 12)}`);
  if (mode.startsWith('container:')) {
    delete kept.Hostname;
    delete kept.Domainname;
    delete kept.ExposedPorts;
  }
  return kept;
}

/**
 * Returns `Binds` and `Mounts` with the names of anonymous volumes, so that the new container mounts the same data. The
 * engine creates an anonymous volume for a `VOLUME` of the image, or for a mount without a source.
 */
function storageOf(host: Json, mounted: readonly Json[]): { Binds: string[] | null; Mounts: Json[] | null } {
  const volumes = new Map(
    mounted
      .filter(({ Type, Name }) => Type === 'volume' && Name)
      .map((mount) => [normalizeContainerPath(String(mount.Destination)), mount]),
  );
  // A bind without a colon requests an anonymous volume, which the code below adds by name.
  const binds = toStrings(host.Binds).filter((bind) => bind.includes(':'));
  const mounts = toList<Json>(host.Mounts).map((mount) => {
    const volume = volumes.get(normalizeContainerPath(String(mount.Target)));
    return mount.Type === 'volume' && !mount.Source && volume ? { ...mount, Source: volume.Name } : mount;
  });
  const named = new Set(
    [
      ...binds.map((bind) => bind.split(':')[1] ?? ''),
      ...mounts.map(({ Target }) => String(Target)),
      ...Object.keys(toObject(host.Tmpfs)),
    ].map(normalizeContainerPath),
  );
  // Add only anonymous volumes. A named volume that is in neither `Binds` nor `Mounts` comes from `VolumesFrom`, which
  // the new container also has.
  const anonymous = [...volumes]
    .filter(([destination, { Name }]) => !named.has(destination) && /^[0-9a-f]{64}$/.test(String(Name)))
    .map(([destination, { Name, RW }]) => ({
      Type: 'volume',
      Source: Name,
      Target: destination,
      ...(RW === false && { ReadOnly: true }),
    }));
  return {
    Binds: host.Binds ? binds : null,
    Mounts: host.Mounts || anonymous.length > 0 ? [...mounts, ...anonymous] : null,
  };
}

/**
 * Returns the requested network settings, without those that the engine chose: the addresses, and the short container
 * id as an alias.
 */
function networksOf(
  networks: Json,
  { id, mode, mac }: { id: string; mode: string; mac: string | null },
): Record<string, Json> {
  if (mode === 'host' || mode === 'none' || mode.startsWith('container:')) return {};
  return Object.fromEntries(
    Object.entries(networks).map(([name, value]) => {
      const from = toObject(value);
      const aliases = toStrings(from.Aliases).filter((alias) => alias !== id.slice(0, 12));
      const primary = name === mode || (name === 'bridge' && mode === 'default');
      const chosenMac = (primary ? mac : null) ?? requestedMacOf(from);
      const { IPAMConfig, Links, DriverOpts, GwPriority } = from;
      const chosen = { IPAMConfig, Links, DriverOpts, GwPriority, MacAddress: chosenMac };
      const given = Object.entries({ ...chosen, Aliases: aliases.length > 0 && aliases });
      return [name, Object.fromEntries(given.filter(([, value]) => Boolean(value)))];
    }),
  );
}

/**
 * Returns an endpoint's MAC address if it was probably requested, otherwise an empty string. Engines before 28 derive
 * other MAC addresses from the IP address: reusing one with a different IP address could create a duplicate.
 */
function requestedMacOf({ MacAddress, IPAddress }: Json): string {
  const made = String(IPAddress ?? '')
    .split('.')
    .map((part) => Number(part).toString(16).padStart(2, '0'));
  return MacAddress === ['02', '42', ...made].join(':') ? '' : String(MacAddress ?? '');
}

function platformOf({ os, architecture, variant }: Json): string | null {
  if (!os || !architecture) return null;
  return [os, architecture, variant].filter(Boolean).join('/');
}

export const normalizeContainerPath = (path: string): string =>
  posix.normalize(path).replace(/(?<=.)\/$/, '');
