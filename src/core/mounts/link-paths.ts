import { lstat, mkdir, realpath, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { formatMountFlags } from '../errors/advice.ts';
import { UpdateError } from '../errors/update-error.ts';
import type { HostPaths } from './host-paths.ts';

interface HostPathLink {
  link: string;
  to: string;
}

/**
 * Links each host directory that is mounted at another path, because project files may contain its host path. Errors
 * are ignored.
 */
export async function linkAllHostPaths(paths: HostPaths): Promise<HostPathLink[]> {
  const made: HostPathLink[] = [];
  for (const host of paths.sources) {
    const here = paths.mappingOfHost(host)?.here ?? host;
    const found = await stat(here).catch(() => null);
    const linked = found?.isDirectory() ? await linkHostPath(paths, host).catch(() => null) : null;
    if (linked !== null) made.push(linked);
  }
  return made;
}

/**
 * Makes a host path valid in this container, with a symbolic link if necessary. Returns the new link, or null if no
 * link was needed.
 */
export async function linkHostPath(paths: HostPaths, host: string): Promise<HostPathLink | null> {
  const mapping = paths.mappingOfHost(host);
  if (!mapping)
    throw new UpdateError(
      'outside-mounts',
      `${host} is not mounted into this container: add ${formatMountFlags(host)}`,
    );
  const here = join(mapping.here, relative(mapping.host, host));
  if (here === host || (await sameFile(here, host))) return null;
  // Without a link, compose would resolve relative bind mounts wrongly, and the engine would create empty directories.
  const link = await firstMissing(mapping.host, host);
  const refusal = (why: string) =>
    new UpdateError('path-taken', `${host} cannot be created in this container: ${why}`, {
      advice: `Mount it at its own path: ${formatMountFlags(host)}.`,
    });
  if (!link) throw refusal('the path already exists');
  const to = join(mapping.here, relative(mapping.host, link));
  try {
    await mkdir(dirname(link), { recursive: true });
    await symlink(to, link);
  } catch (error) {
    // Node reports EROFS as ENOENT if several directories must be created.
    const isReadOnly = ['EROFS', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '');
    throw refusal(isReadOnly ? "the container's root file system is read-only" : String(error));
  }
  return { link, to };
}

async function sameFile(a: string, b: string): Promise<boolean> {
  const [left, right] = await Promise.all([a, b].map((path) => realpath(path).catch(() => null)));
  return left !== null && left === right;
}

/** Returns the first missing path from `from` down to `to`; null if all paths exist. */
async function firstMissing(from: string, to: string): Promise<string | null> {
  const below = relative(from, to).split('/').filter(Boolean);
  for (let depth = 0; depth <= below.length; depth++) {
    const path = join(from, ...below.slice(0, depth));
    if ((await lstat(path).catch(() => null)) === null) return path;
  }
  return null;
}
