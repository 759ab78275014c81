import { readFile, realpath } from 'node:fs/promises';
import { hostname } from 'node:os';
import { unescapeOctal } from '../../core/mounts/mount-table.ts';
import { type Container, isUp } from '../objects/container.ts';

export interface OwnContainerClues {
  /**
   * Container id of 64 hexadecimal digits, from the source path of the mount at /etc/hostname. Null if the mount table
   * contains no id.
   */
  id: string | null;
  /** Name or id by which the engine may find the container: the id if it is known, otherwise the host name. */
  name: string;
  /** Host directory of the container's writable layer; null if the root is not an overlay. */
  layer: string | null;
  /** Source paths of mounts within their file systems, keyed by mount point. */
  mounts: ReadonlyMap<string, string>;
  env: Readonly<Record<string, string | undefined>>;
}

interface ContainerLookup {
  /** Inspects a container by name or id; null if it does not exist. */
  inspect(name: string): Promise<Container | null>;
  /** Returns the ids of the containers that share a container's network. */
  listNetworkUsers(id: string): Promise<readonly string[]>;
}

/**
 * Reads the clues from the mount table, the host name and the environment. The host name is less reliable, because the
 * operator may have chosen it.
 */
export async function readOwnContainerClues(): Promise<OwnContainerClues> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return parseOwnContainerClues(table, hostname(), process.env);
}

/** @param table - content of /proc/self/mountinfo */
export function parseOwnContainerClues(
  table: string,
  host: string,
  env: OwnContainerClues['env'],
): OwnContainerClues {
  const mounts = new Map<string, string>();
  let layer: string | null = null;
  for (const line of table.split('\n')) {
    const [, , , root = '', point = '', ...rest] = line.split(' ').map(unescapeOctal);
    if (point !== '') mounts.set(point, root);
    if (point === '/') layer = /(?:^|,)upperdir=([^,]*)/.exec(rest.at(-1) ?? '')?.[1] ?? null;
  }
  const files = ['/etc/hostname', '/etc/hosts', '/etc/resolv.conf'].map((file) => mounts.get(file) ?? '');
  const id = files.map((root) => /[/-]containers\/([0-9a-f]{64})\//.exec(root)?.[1]).find(Boolean) ?? null;
  return { id, name: id ?? host, layer, mounts, env };
}

/**
 * Finds the container in which a process runs; null if the engine has no such container. A process in another
 * container's network sees that container's /etc files and host name (docs/contract.md 8.22). Its own container is
 * therefore identified by the writable layer, or by mounts if the engine reports no layers.
 */
export async function findOwnContainer(
  lookup: ContainerLookup,
  traces: OwnContainerClues,
): Promise<Container | null> {
  const named = await lookup.inspect(traces.name);
  if (named === null || isOwnLayer(named, traces) === true) return named;
  const others = await Promise.all((await lookup.listNetworkUsers(named.id)).map((id) => lookup.inspect(id)));
  const all = [named, ...others.filter((other) => other !== null)];
  const byLayer = all.find((each) => isOwnLayer(each, traces) === true);
  return byLayer ?? (await findBestMatch(all, traces));
}

/**
 * Checks whether a container has the writable layer of this process; null if one of the two layers is unknown. If the
 * mount options are long, the mount table contains only the end of the path, so a match of the end is sufficient.
 */
function isOwnLayer({ upperDir }: Container, { layer }: OwnContainerClues): boolean | null {
  if (upperDir === null || layer === null) return null;
  return upperDir === layer || upperDir.endsWith(`/${layer}`);
}

/**
 * Returns the container that matches this process best: the one with the most mounts, then with the most matching
 * sources, then with the most matching variables. Returns null if containers of different images match equally well.
 */
async function findBestMatch(
  candidates: readonly Container[],
  traces: OwnContainerClues,
): Promise<Container | null> {
  const [only, ...others] = candidates;
  if (only === undefined || others.length === 0) return only ?? null;
  const possible = candidates.filter((each) => isUp(each) && isOwnLayer(each, traces) === null);
  const scores = await Promise.all(possible.map((each) => countMatches(each, traces)));
  const ranked = possible
    .flatMap((each, at) => (scores[at] == null ? [] : [{ each, score: scores[at] }]))
    .sort((a, b) => compare(b.score, a.score));
  const [best, next] = ranked;
  const isTie = best && next && compare(best.score, next.score) === 0;
  // Replicas have the same image, so any replica is acceptable.
  return best === undefined || (isTie && best.each.imageId !== next.each.imageId) ? null : best.each;
}

/**
 * Counts a container's mounts, and the mount sources and variables that match this process. Returns null if this
 * process lacks one of the mounts, because it then runs in another container.
 */
async function countMatches({ mounts, env }: Container, own: OwnContainerClues): Promise<number[] | null> {
  let sources = 0;
  for (const { destination, source } of mounts) {
    // The mount table resolves symbolic links: a mount at /var/run may be listed at /run.
    const root = own.mounts.get(await realpath(destination).catch(() => destination));
    if (root === undefined) return null;
    if (root !== '/' && source.endsWith(root)) sources += 1;
  }
  const same = [...env].filter(([key, value]) => own.env[key] === value).length;
  return [mounts.length, sources, same];
}

const compare = (a: readonly number[], b: readonly number[]): number =>
  a.map((value, at) => value - (b[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
