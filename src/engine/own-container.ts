import { readFile, realpath } from 'node:fs/promises';
import { hostname } from 'node:os';
import { unescaped } from '../core/files/mount-table.ts';
import { type Container, isUp } from './container.ts';

/** What a process can see of the container that it runs in. */
export interface OwnTraces {
  /** From the path that /etc/hostname is mounted from: 64 hex digits; null if the mount table does not tell. */
  id: string | null;
  /** What the engine may know the container by: the id, else the host name. */
  name: string;
  /** The directory of the host that its root writes to; null without an overlay. */
  layer: string | null;
  /** What of its file system is mounted where: roots by mount points. */
  mounts: ReadonlyMap<string, string>;
  env: Readonly<Record<string, string | undefined>>;
}

/** What has to be asked of an engine. */
interface ContainerLookup {
  /** Null if there is none. */
  inspect(name: string): Promise<Container | null>;
  /** The ids of the containers that live in that container's network. */
  inNetworkOf(id: string): Promise<readonly string[]>;
}

/**
 * What the mount table tells first: the engine mounts /etc/hostname and others from a directory named by a container's
 * id. The host name second: it may have been chosen by the operator.
 */
export async function ownTraces(): Promise<OwnTraces> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return readTraces(table, hostname(), process.env);
}

/** @param table of /proc/self/mountinfo */
export function readTraces(table: string, host: string, env: OwnTraces['env']): OwnTraces {
  const mounts = new Map<string, string>();
  let layer: string | null = null;
  for (const line of table.split('\n')) {
    const [, , , root = '', point = '', ...rest] = line.split(' ').map(unescaped);
    if (point !== '') mounts.set(point, root);
    if (point === '/') layer = /(?:^|,)upperdir=([^,]*)/.exec(rest.at(-1) ?? '')?.[1] ?? null;
  }
  const files = ['/etc/hostname', '/etc/hosts', '/etc/resolv.conf'].map((file) => mounts.get(file) ?? '');
  const id = files.map((root) => /[/-]containers\/([0-9a-f]{64})\//.exec(root)?.[1]).find(Boolean) ?? null;
  return { id, name: id ?? host, layer, mounts, env };
}

/**
 * The container that a process runs in; null if the engine knows none. A container in another's network has the other's
 * files in /etc, and its host name (docs/contract.md 8.22): which of them it is, is told by the layer that its root
 * writes to, and where the engine does not say that by what is mounted.
 */
export async function findOwnContainer(
  lookup: ContainerLookup,
  traces: OwnTraces,
): Promise<Container | null> {
  const named = await lookup.inspect(traces.name);
  if (named === null || isOwnLayer(named, traces) === true) return named;
  const others = await Promise.all((await lookup.inNetworkOf(named.id)).map((id) => lookup.inspect(id)));
  const all = [named, ...others.filter((other) => other !== null)];
  const byLayer = all.find((each) => isOwnLayer(each, traces) === true);
  return byLayer ?? (await bestFit(all, traces));
}

/** Null if the engine or the mount table does not tell. Long options of a mount are given with paths that are relative. */
function isOwnLayer({ upperDir }: Container, { layer }: OwnTraces): boolean | null {
  if (upperDir === null || layer === null) return null;
  return upperDir === layer || upperDir.endsWith(`/${layer}`);
}

/**
 * The container whose mounts are all here; of several the one with most mounts, then with most of the environment. Null
 * where two of different images cannot be told apart.
 */
async function bestFit(candidates: readonly Container[], traces: OwnTraces): Promise<Container | null> {
  const [only, ...others] = candidates;
  if (only === undefined || others.length === 0) return only ?? null;
  const possible = candidates.filter((each) => isUp(each) && isOwnLayer(each, traces) === null);
  const scores = await Promise.all(possible.map((each) => fitOf(each, traces)));
  const ranked = possible
    .flatMap((each, at) => (scores[at] == null ? [] : [{ each, score: scores[at] }]))
    .sort((a, b) => compare(b.score, a.score));
  const [best, next] = ranked;
  const isTie = best && next && compare(best.score, next.score) === 0;
  // Replicas are of one image, and each of them tells the same.
  return best === undefined || (isTie && best.each.imageId !== next.each.imageId) ? null : best.each;
}

/** How many of its mounts are here, how many with the same source, and how much of its environment; null if a mount is missing. */
async function fitOf({ mounts, env }: Container, own: OwnTraces): Promise<number[] | null> {
  let sources = 0;
  for (const { destination, source } of mounts) {
    // A mount point is told without the symbolic links on the way to it, such as /var/run.
    const root = own.mounts.get(await realpath(destination).catch(() => destination));
    if (root === undefined) return null;
    if (root !== '/' && source.endsWith(root)) sources += 1;
  }
  const same = [...env].filter(([key, value]) => own.env[key] === value).length;
  return [mounts.length, sources, same];
}

const compare = (a: readonly number[], b: readonly number[]): number =>
  a.map((value, at) => value - (b[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
