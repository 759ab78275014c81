import { join, relative } from 'node:path';

/** A mount as reported by the engine. */
export interface Mount {
  /** `bind`, `volume` or `tmpfs`. Only a `bind` mount is a directory of the host. */
  type: string;
  /** Path on the host, or the name of a volume. */
  source: string;
  destination: string;
  writable: boolean;
}

/** A directory of the host, and its path in this container. */
interface Mapping {
  host: string;
  here: string;
  writable: boolean;
}

/** Whether the path is in the directory, or is the directory. Both must be absolute and normalized. */
export const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);

/** Converts paths in mounted host directories between the host and this container. */
export class HostPaths {
  readonly #mappings: Mapping[];
  /** Named volumes that are mounted in this container. Only the engine uses the host paths of their files. */
  readonly volumes: readonly Mount[];

  constructor(mounts: readonly Mount[]) {
    this.volumes = mounts.filter((mount) => mount.type === 'volume');
    this.#mappings = mounts
      .filter((mount) => mount.type === 'bind')
      .map(({ source, destination, writable }) => ({ host: source, here: destination, writable }));
  }

  /** Sources of all bind mounts, as paths on the host. */
  get sources(): string[] {
    return this.#mappings.map(({ host }) => host);
  }

  /** Destinations of all bind mounts, as paths in this container. */
  get destinations(): string[] {
    return this.#mappings.map(({ here }) => here);
  }

  /** Adds a second path for a mounted directory: a host path with symbolic links, or its path in another container. */
  addAlias(host: string, here: string): void {
    if (this.mappingOfHost(host)) return;
    const volume = this.volumes.find(({ destination }) => isWithin(here, destination));
    const { writable } = this.#mappingOf(here) ?? volume ?? { writable: false };
    this.#mappings.push({ host, here, writable });
  }

  /** Converts a path in this container to a path on the host. Returns null if the path is not mounted from the host. */
  toHost(here: string): string | null {
    const mapping = this.#mappingOf(here);
    return mapping ? join(mapping.host, relative(mapping.here, here)) : null;
  }

  /** Converts a path on the host to a path in this container. Returns null if the path is not mounted. */
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
}
