import { lstat, mkdir, realpath, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { mountFlags } from '../progress/advice.ts';
import { UpdateError } from '../progress/update-error.ts';

/** A mount as the engine reports it. */
interface KnownMount {
  /** Of the kinds of mounts, only `bind` is a directory of the host. */
  type: string;
  /** A directory, or a volume's name. */
  source: string;
  destination: string;
  writable: boolean;
}

/** A directory of the host and where it is in this container. */
interface Mapping {
  host: string;
  here: string;
  writable: boolean;
}

/** Whether `path` is `directory` or is below it; both absolute and normalised. */
export const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);

/** The host's file system as far as it is mounted here. */
export class HostPaths {
  readonly #mappings: Mapping[];
  /** Named volumes that are mounted here. Their files are the host's as well, under a path that nobody names. */
  readonly volumes: readonly KnownMount[];

  constructor(mounts: readonly KnownMount[]) {
    this.volumes = mounts.filter((mount) => mount.type === 'volume');
    this.#mappings = mounts
      .filter((mount) => mount.type === 'bind')
      .map(({ source, destination, writable }) => ({ host: source, here: destination, writable }));
  }

  /** Bind mounts as they are seen here. */
  get destinations(): string[] {
    return this.#mappings.map(({ here }) => here);
  }

  /**
   * Another spelling of a directory that is mounted here: a symlinked path that compose was started with, or the path of a
   * volume in another program's container.
   */
  alias(host: string, here: string): void {
    if (this.mappingOfHost(host)) return;
    const volume = this.volumes.find(({ destination }) => isWithin(here, destination));
    const { writable } = this.#mappingOf(here) ?? volume ?? { writable: false };
    this.#mappings.push({ host, here, writable });
  }

  /** The host's path of something here, or null where it is not mounted from the host. */
  toHost(here: string): string | null {
    const mapping = this.#mappingOf(here);
    return mapping ? join(mapping.host, relative(mapping.here, here)) : null;
  }

  /** Where a host path is here, or null where it is not mounted. */
  fromHost(host: string): string | null {
    const mapping = this.mappingOfHost(host);
    return mapping ? join(mapping.here, relative(mapping.host, host)) : null;
  }

  isMountPoint(here: string): boolean {
    return this.#mappings.some((mapping) => mapping.here === here);
  }

  isWritable(here: string): boolean {
    return this.#mappingOf(here)?.writable ?? false;
  }

  mappingOfHost(host: string): Mapping | undefined {
    return this.#deepest(host, 'host');
  }

  #mappingOf(here: string): Mapping | undefined {
    return this.#deepest(here, 'here');
  }

  #deepest(path: string, by: 'host' | 'here'): Mapping | undefined {
    const around = this.#mappings.filter((mapping) => isWithin(path, mapping[by]));
    return around.toSorted((a, b) => b[by].length - a[by].length)[0];
  }

  /** Gives every directory that is mounted, as far as it can be given: files of the project may lead to any of them. */
  async giveDirectories(): Promise<{ link: string; to: string }[]> {
    const given: { link: string; to: string }[] = [];
    for (const { host, here } of this.#mappings) {
      const found = await stat(here).catch(() => null);
      const link = found?.isDirectory() ? await this.give(host).catch(() => null) : null;
      if (link !== null) given.push(link);
    }
    return given;
  }

  /**
   * Makes a host path work here under the same name, by a symlink where it is mounted elsewhere: compose resolves
   * relative binds in this container, and the engine would create them, empty, under a wrong path on the host.
   * Gives the link it made, or null where none was needed.
   */
  async give(host: string): Promise<{ link: string; to: string } | null> {
    const mapping = this.mappingOfHost(host);
    if (!mapping)
      throw new UpdateError(
        'outside-mounts',
        `${host} is not mounted into this container: add ${mountFlags(host)}`,
      );
    const here = join(mapping.here, relative(mapping.host, host));
    if (here === host || (await sameFile(here, host))) return null;
    const link = await firstMissing(mapping.host, host);
    const refusal = (why: string) =>
      new UpdateError('path-taken', `${host} cannot be created in this container: ${why}`, {
        advice: `Mount it at its own path: ${mountFlags(host)}.`,
      });
    if (!link) throw refusal('the path already exists');
    const to = join(mapping.here, relative(mapping.host, link));
    try {
      await mkdir(dirname(link), { recursive: true });
      await symlink(to, link);
    } catch (error) {
      // ENOENT is what Node makes of EROFS where it has to create several directories.
      const isReadOnly = ['EROFS', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '');
      throw refusal(isReadOnly ? 'its root file system is read-only' : String(error));
    }
    return { link, to };
  }
}

async function sameFile(a: string, b: string): Promise<boolean> {
  const [left, right] = await Promise.all([a, b].map((path) => realpath(path).catch(() => null)));
  return left !== null && left === right;
}

/** The highest path from `from` down to `to` that does not exist here. */
async function firstMissing(from: string, to: string): Promise<string | null> {
  const below = relative(from, to).split('/').filter(Boolean);
  for (let depth = 0; depth <= below.length; depth++) {
    const path = join(from, ...below.slice(0, depth));
    if ((await lstat(path).catch(() => null)) === null) return path;
  }
  return null;
}
