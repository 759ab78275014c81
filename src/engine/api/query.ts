import { isWithin } from '../../core/files/host-paths.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import type { Engine } from '../cli/engine.ts';
import {
  type Container,
  type Image,
  isUp,
  type ListedContainer,
  readContainer,
  readImage,
  readListed,
} from '../container.ts';
import { isVersion } from '../http/api-version.ts';
import { refusalFault } from '../http/fault.ts';
import { type Filters, filtered, requestName } from '../http/request.ts';
import { imageAnswer } from '../image-answer.ts';
import { type Json, listOf, strings } from '../json.ts';
import { composeLabels } from '../labels.ts';
import { findOwnContainer, type OwnTraces } from '../own-container.ts';
import { containerIn } from '../podman.ts';
import { letThrough } from '../proxy-refusal.ts';
import { askApi, notDone, readApi } from './api.ts';

/** What the engine says of itself. */
export type EngineFacts = Awaited<ReturnType<typeof engineFacts>>;

/** What a container has mounted, as the engine tells of it. */
export interface NamedMount {
  /** The volume's name; empty for a bind. */
  volume: string;
  /** On the host. */
  source: string;
  destination: string;
}

/** A project may have hundreds of containers, and a socket takes so many connections at a time. */
const atATime = 32;

/** Asked before all else: it tells which version of the API to ask in. @throws UpdateError engine-unavailable, engine-version */
export async function engineFacts(engine: Engine) {
  const said = (await get(engine, '/version', [])) as Record<string, string>;
  const { Version, Os, Arch, MinAPIVersion: oldest, ApiVersion: newest } = said;
  return {
    version: String(Version),
    /** `linux/amd64` */
    platform: `${Os}/${Arch}`,
    /** The versions of its API, such as `1.40` to `1.56`; null if the engine does not report it. */
    api: isVersion(oldest) && isVersion(newest) ? { oldest, newest } : null,
  };
}

/** All that the engine says of itself and its kernel; empty if it may not be asked. @throws UpdateError engine-unavailable */
export const engineInfo = async (engine: Engine): Promise<Record<string, unknown>> =>
  ((await get(engine, '/info', [403, 404, 500])) ?? {}) as Record<string, unknown>;

/**
 * Containers by the engine's filters, stopped ones too.
 * @param filters such as `{ label: ['svc-updater.scratch=svc'] }`
 * @throws UpdateError engine-unavailable
 */
export const listContainers = async (engine: Engine, filters: Filters): Promise<ListedContainer[]> =>
  listOf(await listRaw(engine, filters)).map(readListed);

/** Binds and volumes of all containers, stopped ones too, that have a path in them. @throws UpdateError engine-unavailable */
export async function mountsWith(engine: Engine, path: string): Promise<NamedMount[]> {
  const list = (await listRaw(engine, {})) as {
    Mounts?: { Type?: string; Name?: string; Source?: string; Destination?: string }[] | null;
  }[];
  return list
    .flatMap(({ Mounts }) => Mounts ?? [])
    .flatMap(({ Type, Name = '', Source = '', Destination = '' }): NamedMount[] => {
      if ((Type !== 'bind' && Type !== 'volume') || Source === '' || !isWithin(path, Destination)) return [];
      return [{ volume: Type === 'volume' ? Name : '', source: Source, destination: Destination }];
    });
}

/** Local images by the engine's filters, each with all its references. @throws UpdateError engine-unavailable */
export async function listImages(engine: Engine, filters: Filters) {
  const images = (await get(engine, filtered('/images/json', filters), [])) as Json[];
  return images.map(({ Id, RepoTags, RepoDigests, Size }) => ({
    id: String(Id),
    // The containerd store lists the digest of a pull as a tag, too.
    ...{ tags: strings(RepoTags).filter((tag) => !tag.includes('@')), digests: strings(RepoDigests) },
    size: Number(Size ?? 0),
  }));
}

/** Tags that begin so. @throws UpdateError engine-unavailable */
export async function listTags(engine: Engine, prefix: string): Promise<string[]> {
  const images = await listImages(engine, { reference: [`${prefix}*`] });
  return images.flatMap(({ tags }) => tags).filter((tag) => tag.startsWith(prefix));
}

const listRaw = (engine: Engine, filters: Filters): Promise<unknown> =>
  get(engine, filtered('/containers/json', filters, { all: '1' }), []);

/** Networks by name; two may have the same one. @throws UpdateError engine-unavailable */
export async function listNetworks(engine: Engine, names: readonly string[]) {
  if (names.length === 0) return [];
  return madeOf(await get(engine, filtered('/networks', { name: names }), []), names);
}

/** Volumes by name. @throws UpdateError engine-unavailable */
export async function listVolumes(engine: Engine, names: readonly string[]) {
  if (names.length === 0) return [];
  const { Volumes } = (await get(engine, filtered('/volumes', { name: names }), [])) as { Volumes: unknown };
  return madeOf(Volumes ?? [], names);
}

/** Networks or volumes. The engine's filter lets every name through that has one of these in it. */
const madeOf = (listed: unknown, names: readonly string[]) =>
  (listed as { Name: string; Labels?: Record<string, string> | null; Options?: Json | null }[])
    .filter(({ Name }) => names.includes(Name))
    .map(({ Name, Labels, Options }) => ({
      name: Name,
      /** Of the definition that compose made it from; null if whoever made it gave it none. */
      hash: Labels?.[composeLabels.configHash] || null,
      /** Of its driver. */
      options: Options ?? {},
    }));

/** Containers by id or name; those that are gone are left out. @throws UpdateError engine-unavailable */
export async function inspectContainers(engine: Engine, names: readonly string[]): Promise<Container[]> {
  return (await inspectWhole(engine, names)).map(readContainer);
}

/** All containers of the engine that are up. Podman has no filter for some states. @throws UpdateError engine-unavailable */
export async function inspectRunning(engine: Engine): Promise<Container[]> {
  const ids = (await listContainers(engine, {})).filter(isUp).map(({ id }) => id);
  return inspectContainers(engine, ids);
}

/** The engine's view of the container that this process runs in; null if it knows none. @throws UpdateError engine-unavailable */
export const inspectOwn = (engine: Engine, traces: OwnTraces): Promise<Container | null> =>
  findOwnContainer(
    {
      inspect: async (name) => (await inspectContainers(engine, [name]))[0] ?? null,
      inNetworkOf: async (id) => {
        const running = await listContainers(engine, { status: ['running'] });
        const ids = running.map((each) => each.id);
        // Podman tells the network of a container that is asked about, and not in a list.
        const isTold = running.some(({ networkMode }) => networkMode !== '');
        const told = isTold ? running : await inspectContainers(engine, ids);
        return told.flatMap((each) => (each.networkMode === `container:${id}` ? [each.id] : []));
      },
    },
    traces,
  );

/** Local images by reference or id, in the order asked for; null for one that is not here. @throws UpdateError engine-unavailable */
export async function inspectImages(
  engine: Engine,
  references: readonly string[],
): Promise<(Image | null)[]> {
  return Promise.all(
    references.map(async (reference) => {
      const path = `/images/${encodeURIComponent(reference)}/json`;
      const raw = await imageAnswer(async (query) => (await get(engine, `${path}?${query}`)) as Json | null);
      return raw === null ? null : { ...readImage(raw), ...(engine.isPodman && { isUnclear: true }) };
    }),
  );
}

/**
 * The whole of what inspection tells of containers; those that are gone are left out. Holds values: never log it.
 * @throws UpdateError engine-unavailable
 */
export async function inspectWhole(
  engine: Engine,
  names: readonly string[],
): Promise<Record<string, unknown>[]> {
  const found: unknown[] = [];
  for (let at = 0; at < names.length; at += atATime) {
    const asked = names.slice(at, at + atATime).map((name) => `/containers/${encodeURIComponent(name)}/json`);
    found.push(...(await Promise.all(asked.map((path) => get(engine, path, [404], containerIn)))));
  }
  return found.filter((raw) => raw !== null) as Record<string, unknown>[];
}

/** What the engine answers; null if it has no such thing. */
async function get(
  engine: Engine,
  path: string,
  none: readonly number[] = [404],
  read: (engine: Engine, body: Buffer) => unknown = (_, body) => JSON.parse(body.toString()),
): Promise<unknown> {
  const answer = await readApi(engine, path);
  if (answer.status === 200) return read(engine, answer.body);
  if (none.includes(answer.status)) return null;
  const call = requestName({ method: 'GET', path });
  const { isForeign, message } = refusalFault(call, answer);
  if (isForeign && answer.status < 500)
    throw new UpdateError('engine-unavailable', message, { advice: letThrough });
  throw notDone(`answer (${call})`, answer);
}

/**
 * Stops containers, all at a time, and waits as long as their own grace periods ask: no deadline cuts a stop off. A
 * container that is gone counts as stopped.
 * @param graces seconds by id, in place of a container's own grace period @throws UpdateError engine-unavailable
 */
export async function stopContainers(
  engine: Engine,
  ids: readonly string[],
  graces: ReadonlyMap<string, number> = new Map(),
): Promise<void> {
  await Promise.all(
    ids.map(async (id) => {
      const deadlineMs = Number.POSITIVE_INFINITY;
      const grace = graces.get(id);
      const answer = await askApi(
        engine,
        grace === undefined
          ? { method: 'POST', path: `/containers/${id}/stop`, deadlineMs }
          : { method: 'POST', path: `/containers/${id}/stop?t=${grace}`, deadlineMs },
      );
      if (answer.status >= 400 && answer.status !== 404) throw notDone(`stop ${id.slice(0, 12)}`, answer);
    }),
  );
}
