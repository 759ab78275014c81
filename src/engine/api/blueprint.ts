import { posix } from 'node:path';
import type { Engine } from '../cli/engine.ts';
import { manifestOf, publishedPorts } from '../container.ts';
import { isAtLeast } from '../http/api-version.ts';
import { type Json, list, object, strings } from '../json.ts';
import { type CopiedFile, readCopied } from './copied-files.ts';

/**
 * What it takes to make a container again, in plain JSON: from the engine's inspection of it. Holds the values of its
 * environment: never log it.
 */
export interface Blueprint {
  /** 64 hex digits. */
  id: string;
  name: string;
  /** The local image's id, `sha256:…`. */
  imageId: string;
  /** The digest of the manifest that it ran; null if the engine did not report it, unknown to journals of earlier versions. */
  imageManifest?: string | null;
  /** The reference it was created from. */
  imageReference: string;
  /** `linux/arm64/v8` where one image id stands for several platforms; null elsewhere. */
  platform: string | null;
  config: Json;
  hostConfig: Json;
  /** By network name; empty in somebody else's network. */
  networks: Record<string, Json>;
  /** Ports that it had on the host when the blueprint was taken, `8080/tcp`; unknown to journals of earlier versions. */
  published?: readonly string[];
  /** What compose has copied into the container's own file system. */
  copied: CopiedFile[];
  /** Paths of such files that could not be kept. */
  lost: string[];
}

/**
 * Blueprints of containers, by the engine's own inspection; unknown ids are left out. Best taken while they run: of a
 * stopped one the engine no longer tells the MAC addresses of further networks.
 * @param copied paths by container id where compose may have copied files to, see `copiedPaths`
 * @throws UpdateError engine-unavailable
 */
export async function takeBlueprints(
  engine: Engine,
  ids: readonly string[],
  copied: ReadonlyMap<string, readonly string[]> = new Map(),
): Promise<Blueprint[]> {
  const blueprints: Blueprint[] = [];
  for (const raw of await engine.inspectRaw(ids)) {
    const blueprint = blueprintOf(raw, engine.apiVersion);
    const mounted = new Set(list<Json>(raw.Mounts).map(({ Destination }) => cleanPath(String(Destination))));
    const paths = (copied.get(blueprint.id) ?? []).filter((path) => !mounted.has(cleanPath(path)));
    blueprints.push({ ...blueprint, ...(await readCopied(engine, blueprint.id, paths)) });
  }
  return blueprints;
}

/**
 * Of the answer to `GET /containers/<id>/json`, or of one element of what `docker inspect` prints.
 * @param apiVersion of the API that said so, `1.45`
 */
export function blueprintOf(raw: unknown, apiVersion = ''): Blueprint {
  const { Id, Name, Image, Config, HostConfig, NetworkSettings, Mounts, ImageManifestDescriptor } =
    raw as Json;
  const [id, config, host] = [String(Id), object(Config), object(HostConfig)];
  const mode = String(host.NetworkMode ?? '');
  return {
    id,
    name: String(Name).replace(/^\//, ''),
    imageId: String(Image),
    imageManifest: manifestOf(raw),
    imageReference: String(config.Image),
    platform: platformOf(object(object(ImageManifestDescriptor).platform)),
    config: configOf(config, { id, mode, uts: String(host.UTSMode ?? '') }),
    hostConfig: { ...host, ...storageOf(host, list(Mounts) as Json[]) },
    networks: networksOf(object(object(NetworkSettings).Networks), {
      id,
      mode,
      // Since 1.52 the API no longer tells the MAC address that was chosen for the container's first network.
      mac: isAtLeast(apiVersion, '1.52') ? null : String(config.MacAddress ?? ''),
    }),
    published: publishedPorts(object(object(NetworkSettings).Ports)),
    copied: [],
    lost: [],
  };
}

/** What the image supplied may be given again: the engine merges it to the same. */
function configOf(config: Json, { id, mode, uts }: { id: string; mode: string; uts: string }): Json {
  // The MAC address goes with the endpoint of its network, see `networksOf`.
  const { MacAddress: _, ...kept } = config;
  // The default host name is made from the id and would be wrong for a new one; a container that shares the host's UTS
  // namespace may not have one.
  if (kept.Hostname === id.slice(0, 12) || uts === 'host') delete kept.Hostname;
  // Podman tells it among the variables, too.
  if (Array.isArray(kept.Env)) kept.Env = kept.Env.filter((entry) => entry !== `HOSTNAME=${id.slice(0, 12)}`);
  if (mode.startsWith('container:')) {
    delete kept.Hostname;
    delete kept.Domainname;
    delete kept.ExposedPorts;
  }
  return kept;
}

/**
 * `Binds` and `Mounts`, with the volumes that the engine made and named by itself (for `VOLUME` of the image, or a mount
 * without a source) named: their data is what must come back.
 */
function storageOf(host: Json, mounted: readonly Json[]): { Binds: string[] | null; Mounts: Json[] | null } {
  const volumes = new Map(
    mounted
      .filter(({ Type, Name }) => Type === 'volume' && Name)
      .map((mount) => [cleanPath(String(mount.Destination)), mount]),
  );
  // A bind without a colon asks for an anonymous volume; those are named below.
  const binds = strings(host.Binds).filter((bind) => bind.includes(':'));
  const mounts = list<Json>(host.Mounts).map((mount) => {
    const volume = volumes.get(cleanPath(String(mount.Target)));
    return mount.Type === 'volume' && !mount.Source && volume ? { ...mount, Source: volume.Name } : mount;
  });
  const named = new Set(
    [
      ...binds.map((bind) => bind.split(':')[1] ?? ''),
      ...mounts.map(({ Target }) => String(Target)),
      ...Object.keys(object(host.Tmpfs)),
    ].map(cleanPath),
  );
  // A named volume that neither Binds nor Mounts name comes by `VolumesFrom`, which brings it again.
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

/** What was asked for, without what the engine chose: addresses, and the short id among the aliases. */
function networksOf(
  networks: Json,
  { id, mode, mac }: { id: string; mode: string; mac: string | null },
): Record<string, Json> {
  if (mode === 'host' || mode === 'none' || mode.startsWith('container:')) return {};
  return Object.fromEntries(
    Object.entries(networks).map(([name, value]) => {
      const from = object(value);
      const aliases = strings(from.Aliases).filter((alias) => alias !== id.slice(0, 12));
      const primary = name === mode || (name === 'bridge' && mode === 'default');
      const chosenMac = (primary ? mac : null) ?? probablyChosenMac(from);
      const { IPAMConfig, Links, DriverOpts, GwPriority } = from;
      const chosen = { IPAMConfig, Links, DriverOpts, GwPriority, MacAddress: chosenMac };
      const given = Object.entries({ ...chosen, Aliases: aliases.length > 0 && aliases });
      return [name, Object.fromEntries(given.filter(([, value]) => Boolean(value)))];
    }),
  );
}

/**
 * Of a further network the engine never tells whether the MAC address was chosen. It is taken as chosen unless it was
 * made from the IP address, as engines before 28 do: kept with another address, it could meet its double.
 */
function probablyChosenMac({ MacAddress, IPAddress }: Json): string {
  const made = String(IPAddress ?? '')
    .split('.')
    .map((part) => Number(part).toString(16).padStart(2, '0'));
  return MacAddress === ['02', '42', ...made].join(':') ? '' : String(MacAddress ?? '');
}

function platformOf({ os, architecture, variant }: Json): string | null {
  if (!os || !architecture) return null;
  return [os, architecture, variant].filter(Boolean).join('/');
}

export const cleanPath = (path: string): string => posix.normalize(path).replace(/(?<=.)\/$/, '');
