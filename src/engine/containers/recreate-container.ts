import { isDeepStrictEqual } from 'node:util';
import { UpdateError } from '../../core/errors/update-error.ts';
import type { ContainerSpec } from '../api-objects.ts';
import type { Engine } from '../cli/engine.ts';
import { hasSameImage, isContainerOfImage } from '../comparison/same-image.ts';
import { canCreateWithAllNetworks } from '../http/api-version.ts';
import { findEngineError, tolerateErrors } from '../http/engine-error.ts';
import { findNamespaceContainer, hasStarted, namespaceModeKeys } from '../objects/container.ts';
import type { Json } from '../objects/json.ts';
import type { ContainerSnapshot } from './container-snapshot.ts';
import { copyFilesToContainer } from './helper-container.ts';

/** Time limit for creating a container: the engine may have to copy image content into a volume. */
const createDeadlineMs = 300_000;

/**
 * Recreates a container under its old name without starting it, and returns its id. A repeated call keeps an existing
 * old container, and a recreated container that was started. A recreated container that never started is replaced,
 * because it may be incomplete.
 * @param successors - ids of recreated containers, keyed by the ids of the containers that they replace
 * @throws UpdateError containers-not-restored if the engine rejects a request; engine-unavailable
 */
export async function recreateContainer(
  engine: Engine,
  snapshot: ContainerSnapshot,
  successors: ReadonlyMap<string, string>,
): Promise<string> {
  try {
    const spec = await specOf(engine, snapshot, successors);
    const made = await create(engine, spec).catch(tolerateErrors('conflict'));
    const twin = made === null ? await findTwin(engine, snapshot) : null;
    if (twin?.started) return twin.id;
    if (twin !== null) await remove(engine, twin.id);
    // After a conflict, try again. The second attempt fails if the name belongs to an unrelated container.
    const id = made ?? (await create(engine, spec));
    await complete(engine, snapshot, id).catch(async (error) => {
      // A later run must not mistake a container without its networks and files for a complete container.
      await remove(engine, id).catch(() => {});
      throw error;
    });
    return id;
  } catch (error) {
    const cause = findEngineError(error);
    if (cause?.status == null) throw error;
    const message = `${snapshot.name} could not be recreated: ${cause.message}`;
    throw new UpdateError('containers-not-restored', message, { cause });
  }
}

const create = (engine: Engine, spec: ContainerSpec): Promise<string> =>
  engine.createContainer(spec, { deadlineMs: createDeadlineMs });

async function specOf(
  engine: Engine,
  snapshot: ContainerSnapshot,
  successors: ReadonlyMap<string, string>,
): Promise<ContainerSpec> {
  const { name, platform, config, hostConfig, networks, imageReference, imageId } = snapshot;
  // Keep the old image reference, so that the container looks as before. If the reference now points to a different
  // image, use the old image's id.
  const isSame = isContainerOfImage(snapshot, await engine.inspectImage(imageReference));
  const endpoints = Object.entries(networks);
  const first = firstNetwork(networks, hostConfig);
  const all = canCreateWithAllNetworks(engine.apiVersion);
  const mac = first === undefined ? undefined : networks[first]?.MacAddress;
  return limitNumbers({
    ...config,
    ...{ name, platform },
    Image: isSame ? imageReference : imageId,
    ...(!all && mac ? { MacAddress: mac } : {}),
    HostConfig: replaceContainerIds(hostConfig, successors),
    NetworkingConfig: {
      EndpointsConfig: Object.fromEntries(all ? endpoints : endpoints.filter(([name]) => name === first)),
    },
  });
}

/** Copies files into a new container. Before API 1.44, also connects the container to its remaining networks. */
async function complete(engine: Engine, snapshot: ContainerSnapshot, id: string): Promise<void> {
  const { networks, hostConfig, copied } = snapshot;
  const first = firstNetwork(networks, hostConfig);
  const others = Object.entries(networks).filter(([name]) => name !== first);
  if (!canCreateWithAllNetworks(engine.apiVersion))
    for (const [name, endpoint] of others) await engine.connectNetwork(name, id, endpoint as Json);
  if (copied.length > 0) await copyFilesToContainer(engine, id, snapshot);
}

/**
 * Finds the container that now has the old name. Returns null unless it is the old container, or was created from the
 * snapshot.
 */
async function findTwin(
  engine: Engine,
  { id, name, config, ...image }: ContainerSnapshot,
): Promise<{ id: string; started: boolean } | null> {
  const its = await engine.inspectContainer(name);
  if (its === null) return null;
  if (its.id === id) return { id, started: true };
  const same = hasSameImage(its, image) && isDeepStrictEqual(its.labels, config.Labels ?? {});
  return same ? { id: its.id, started: hasStarted(its) } : null;
}

/** Removes a recreated container, but keeps its volumes, because they are those of the old container. */
const remove = (engine: Engine, id: string): Promise<void> =>
  engine.removeContainer(id, { force: true, keepsVolumes: true });

function firstNetwork(networks: ContainerSnapshot['networks'], { NetworkMode }: Json): string | undefined {
  const names = Object.keys(networks);
  return names.find((name) => name === NetworkMode) ?? names[0];
}

/** Replaces old container ids with those of recreated containers, in shared namespaces and in `VolumesFrom`. */
export function replaceContainerIds(host: Json, successors: ReadonlyMap<string, string>): Json {
  const successor = (id: string): string => {
    const found = [...successors].find(([old]) => id.length >= 12 && old.startsWith(id));
    return found?.[1] ?? id;
  };
  const changed: Json = { ...host };
  for (const key of namespaceModeKeys) {
    const id = findNamespaceContainer(host[key]);
    if (id !== null) changed[key] = `container:${successor(id)}`;
  }
  if (Array.isArray(host.VolumesFrom)) {
    changed.VolumesFrom = (host.VolumesFrom as string[]).map((from) => {
      const [id = '', ...mode] = from.split(':');
      return [successor(id), ...mode].join(':');
    });
  }
  return changed;
}

/**
 * Limits numbers to the range that the engine accepts. In JavaScript, 2⁶³−1 ("no limit") becomes 2⁶³, which the engine
 * rejects.
 */
function limitNumbers<T>(body: T): T {
  const most = 2 ** 63;
  const text = JSON.stringify(body, (_, value) =>
    typeof value === 'number' && value >= most ? most - 1024 : value,
  );
  return JSON.parse(text);
}
