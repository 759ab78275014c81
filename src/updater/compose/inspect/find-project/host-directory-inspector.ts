import { randomBytes } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { defaultComposeFileNames } from '../../../../core/compose/project-files.ts';
import { formatMountAdvice } from '../../../../core/errors/advice.ts';
import { UpdateError } from '../../../../core/errors/update-error.ts';
import { type HostPaths, isWithin } from '../../../../core/mounts/host-paths.ts';
import { stateDirectoryName } from '../../../../core/names/state-directory-name.ts';
import type { ListedMount } from '../../../../engine/api-objects.ts';
import type { Engine } from '../../../../engine/cli/engine.ts';
import { readContainerFile } from '../../../../engine/containers/container-file.ts';
import {
  createHelperContainer,
  removeHelperContainer,
  removeHelperContainers,
} from '../../../../engine/containers/helper-container.ts';

/** Result of comparing a path on the host with a mounted directory. */
export type DirectoryMatch =
  | 'same'
  /** The path is a different directory with compose files. */
  | 'another'
  /** The path does not exist or has no compose file. */
  | 'nothing';

/** Checks of directories on the host. */
export interface HostDirectoryInspector {
  /**
   * Compares a path on the host with the directory mounted at `here`.
   * @param files - the compose files of the project at the host path, if known
   * @throws UpdateError engine-unavailable, read-only
   */
  compare(path: string, here: string, files?: readonly string[]): Promise<DirectoryMatch>;
  /**
   * Whether the host directory has a compose file with one of these names. Without names, compose's default names are
   * used.
   * @throws UpdateError engine-unavailable
   */
  hasComposeFile(path: string, names?: readonly string[]): Promise<boolean>;
  /**
   * Lists the mounts of all containers at the path or at one of its parent directories.
   * @throws UpdateError engine-unavailable
   */
  listMounts(path: string): Promise<readonly ListedMount[]>;
}

const marker = `${stateDirectoryName}-seen-`;
/** Mount point of the host path in the helper container. */
const helperMountPath = '/seen';

const isComposeFile = (name: string): boolean => /compose.*\.(ya?ml|json)$/i.test(name);

/** Whether a directory in this container contains a compose file. */
export async function hasComposeFileHere(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch(() => [] as string[]);
  return names.some(isComposeFile);
}

/** @param image - the image of the updater's own container, for helper containers */
export const createHostDirectoryInspector = (engine: Engine, image: string): HostDirectoryInspector => {
  /**
   * Calls `look` with a function that checks whether a host directory has an entry. Returns null if the host has no
   * such directory. A helper container mounts the directory, and is never started.
   */
  const through = async <T>(path: string, look: (has: Has) => Promise<T>): Promise<T | null> => {
    await removeHelperContainers(engine, path);
    const scratch = await createMountHelper(engine, image, path);
    if (scratch === null) return null;
    try {
      // Reading one byte shows whether the file exists.
      return await look(
        async (name) =>
          (await readContainerFile(engine, scratch, join(helperMountPath, name), 1)) !== 'missing',
      );
    } finally {
      await removeHelperContainer(engine.uncancellable(), scratch).catch(() => {});
    }
  };
  return {
    listMounts: (path) => engine.listMounts(path),
    hasComposeFile: async (path, names = defaultComposeFileNames) =>
      (await through(path, (has) => someOf(names, has))) ?? false,
    async compare(path, here, files = []) {
      const names = await readdir(here);
      // A previous run that was killed may have left its marker file.
      for (const left of names.filter((name) => name.startsWith(marker))) await rm(join(here, left));
      const file = `${marker}${randomBytes(8).toString('hex')}`;
      const likeness = await through(path, async (has): Promise<DirectoryMatch> => {
        try {
          await writeMarkerFile(join(here, file));
          if (await has(file)) return 'same';
        } finally {
          await rm(join(here, file), { force: true });
        }
        const inside = files.filter((each) => isWithin(each, path)).map((each) => relative(path, each));
        // If all compose files are elsewhere, no file in this directory can identify the project.
        const isElsewhere = files.length > 0 && inside.length === 0;
        const possible = [...names.filter(isComposeFile), ...defaultComposeFileNames, ...inside];
        return isElsewhere || (await someOf(possible, has)) ? 'another' : 'nothing';
      });
      return likeness ?? 'nothing';
    },
  };
};

/** Checks whether the directory has an entry with this name. */
type Has = (name: string) => Promise<boolean>;

async function someOf(names: readonly string[], has: Has): Promise<boolean> {
  for (const name of names) if (await has(name)) return true;
  return false;
}

/** Creates a helper container that mounts a host path. Returns null if the host has no such directory. */
async function createMountHelper(engine: Engine, image: string, path: string): Promise<string | null> {
  const Mounts = [{ Type: 'bind', Source: path, Target: helperMountPath, ReadOnly: true }];
  try {
    return await createHelperContainer(engine, image, path, { hostConfig: { Mounts } });
  } catch (error) {
    if (error instanceof UpdateError && /bind source path does not exist/.test(error.message)) return null;
    throw error;
  }
}

async function writeMarkerFile(path: string): Promise<void> {
  try {
    await writeFile(path, '', { flag: 'wx', mode: 0o600 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const message = `cannot write ${path} (${code}), which is needed to identify the compose directory`;
    throw new UpdateError('read-only', message, { cause });
  }
}

/**
 * Registers the labeled path as an alias of the mounted project directory. Returns false if no mount contains the
 * directory. The paths differ if another program, such as Portainer, started the project from a volume or its own
 * container.
 * @param directory - the path in the labels, which is not mounted here
 */
export async function addProjectDirectoryAlias(
  directory: string,
  paths: HostPaths,
  look: HostDirectoryInspector,
): Promise<boolean> {
  for (const root of await candidates(directory, paths, look)) {
    const here = join(root.here, relative(root.host, directory));
    // If the labeled path is a different directory with compose files, the instance belongs to that directory.
    if (!(await hasComposeFileHere(here)) || (await look.compare(directory, here)) === 'another') continue;
    paths.addAlias(root.host, root.here);
    return true;
  }
  return false;
}

/**
 * Returns directories here that may contain the project directory, each with the path that the labels would use. A
 * volume is returned as a whole, because the project may use files above its directory.
 */
async function candidates(
  directory: string,
  paths: HostPaths,
  look: HostDirectoryInspector,
): Promise<{ host: string; here: string }[]> {
  const foreign = await look.listMounts(directory);
  const byVolume = foreign.flatMap(({ volume, destination }) =>
    paths.volumes
      .filter(({ source }) => volume !== '' && source === volume)
      .map((own) => ({ host: destination, here: own.destination })),
  );
  const bySource = foreign.flatMap((mount) => {
    const here = paths.fromHost(sourceOf(mount, directory));
    return here === null ? [] : [{ host: directory, here }];
  });
  return [...byVolume, ...bySource];
}

/** Returns the host path of a directory inside another container's mount. */
const sourceOf = ({ source, destination }: ListedMount, directory: string): string =>
  join(source, relative(destination, directory));

/**
 * If the labeled path exists only in another program's container, advises mounting its host path. Returns null for an
 * ordinary host directory, or if several host paths are possible.
 */
export async function findMountAdvice(
  directory: string,
  look: HostDirectoryInspector,
): Promise<string | null> {
  const mounts = await look.listMounts(directory);
  const sources = new Set(mounts.map((mount) => sourceOf(mount, directory)));
  if (sources.size === 0 || sources.has(directory) || (await look.hasComposeFile(directory))) return null;
  const homes: string[] = [];
  // Ignore mounts that contain no compose file, because many containers have a mount at the same path, such as /data.
  for (const source of sources) if (await look.hasComposeFile(source)) homes.push(source);
  const [only, ...others] = homes;
  return only === undefined || others.length > 0 ? null : formatMountAdvice(only, directory);
}
