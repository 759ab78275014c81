import { join, relative } from 'node:path';
import type { NamedMount } from '../../engine/api/query.ts';
import { type HostPaths, isWithin } from '../../files/host-paths.ts';
import { addMount } from '../../progress/advice.ts';
import { type HostLook, hasComposeHere } from './host-look.ts';

/**
 * Gives the directory of a project the path of its labels where it is mounted here under another one: another program,
 * such as Portainer, has started it from a volume, or from a directory that it has under a path of its own. What the machine
 * itself has at that path is the instance's where compose files are there. Gives whether it was found.
 * @param directory as the labels name it, which is not mounted here
 */
export async function findHidden(directory: string, paths: HostPaths, look: HostLook): Promise<boolean> {
  for (const root of await candidates(directory, paths, look)) {
    const here = join(root.here, relative(root.host, directory));
    if (!(await hasComposeHere(here)) || (await look.compare(directory, here)) === 'another') continue;
    paths.alias(root.host, root.here);
    return true;
  }
  return false;
}

/** Mounts that may have the directory in them, whole, as files above it may belong to it: their paths on the host and here. */
async function candidates(
  directory: string,
  paths: HostPaths,
  look: HostLook,
): Promise<{ host: string; here: string }[]> {
  const foreign = await look.mounts(directory);
  const byVolume = foreign.flatMap(({ volume, destination }) =>
    paths.volumes
      .filter(({ source }) => volume !== '' && source === volume)
      .map((own) => ({ host: destination, here: own.destination })),
  );
  const bySource = foreign.flatMap((mount) => {
    const here = paths.fromHost(sourceOf(mount, directory));
    return here === null ? [] : [{ host: directory, here }];
  });
  // The other program may be gone, and its volume still there.
  const bySamePath = paths.volumes
    .map(({ destination }) => ({ host: destination, here: destination }))
    .filter(({ host }) => isWithin(directory, host));
  return [...byVolume, ...bySource, ...bySamePath];
}

/** What another container has mounted there, on the host. */
const sourceOf = ({ source, destination }: NamedMount, directory: string): string =>
  join(source, relative(destination, directory));

/**
 * The advice to mount a directory from where another program's container has it, if one alone has compose files there and
 * the machine itself has none; null where it is an ordinary directory of the host.
 */
export async function mountOfHidden(directory: string, look: HostLook): Promise<string | null> {
  const mounts = await look.mounts(directory);
  const sources = new Set(mounts.map((mount) => sourceOf(mount, directory)));
  if (sources.size === 0 || sources.has(directory) || (await look.hasCompose(directory))) return null;
  const homes: string[] = [];
  // Many a container has a mount at /data, and few have a compose file there.
  for (const source of sources) if (await look.hasCompose(source)) homes.push(source);
  const [only, ...others] = homes;
  return only === undefined || others.length > 0 ? null : addMount(only, directory);
}
