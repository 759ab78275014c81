import { join, relative } from 'node:path';

/** A mount as the engine reports it. */
export interface Mount {
  /** `bind`, `volume`, `tmpfs`: only `bind` is a directory of the host. */
  type: string;
  /** A host path, or the name of a volume. */
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
  readonly volumes: readonly Mount[];

  constructor(mounts: readonly Mount[]) {
    this.volumes = mounts.filter((mount) => mount.type === 'volume');
    this.#mappings = mounts
      .filter((mount) => mount.type === 'bind')
      .map(({ source, destination, writable }) => ({ host: source, here: destination, writable }));
  }

  /** The paths of bind mounts on the host. */
  get sources(): string[] {
    return this.#mappings.map(({ host }) => host);
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
}
