// Chooses the mounts that a restore point saves, and finds mounts that rule out a restore point.

import { join, relative } from 'node:path';
import { isWithin, type Mount } from '../../../core/mounts/host-paths.ts';
import { settingsFileName, stateDirectoryName } from '../../../core/names/state-directory-name.ts';
import { normalizeContainerPath } from '../../../engine/containers/container-snapshot.ts';
import { type Container, isUp, type StorageMount, serviceOf } from '../../../engine/objects/container.ts';
import { type Json, toObject } from '../../../engine/objects/json.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import type { DataCoverage } from '../data-context.ts';
import type { SavedMount } from '../restore-point.ts';

export interface MountSelectionContext {
  project: string;
  /** Host path of the compose directory. `files` are the host paths of the compose and env files. */
  directory: string;
  files: readonly string[];
  restorePointsDirectory: string;
  /** Data root directory of the engine; empty if the engine does not report it. */
  dataRoot: string;
  /** Volume options, keyed by volume name. */
  options: ReadonlyMap<string, Json>;
}

/** Mount to save, before its contents have been inspected. */
export type UncheckedMount = Pick<
  SavedMount,
  'service' | 'where' | 'volume' | 'path' | 'subpath' | 'excluded'
>;

interface ChosenMounts {
  mounts: readonly UncheckedMount[];
  /** Writable mounts that are not data, with the reason, such as `app:/tmp (in memory)`. */
  notSaved: readonly string[];
  refusals: readonly string[];
  warnings: readonly string[];
}

/** Containers of `docker compose run` do not count as containers of a service. */
export const isServiceContainer = ({ labels }: Pick<Container, 'labels'>, project: string): boolean =>
  labels[composeLabels.project] === project && labels[composeLabels.oneOff] !== 'True';

/** System paths on the host, which updates do not change. Only exact matches count; paths inside are data. */
const systemPaths = new Set([
  ...joinEachName('/etc', 'localtime timezone hosts hostname resolv.conf machine-id passwd group ssl/certs'),
  ...['/run', '/var/run'].flatMap((run) => [
    run,
    ...joinEachName(run, 'docker.sock udev dbus systemd containerd/containerd.sock'),
  ]),
  ...['/lib/modules', '/usr/share/zoneinfo'],
]);
function joinEachName(directory: string, names: string): string[] {
  return names.split(' ').map((name) => `${directory}/${name}`);
}
/** A directory inside /dev/shm is data, although a restart of the machine removes it. */
const isSystemPath = (path: string): boolean =>
  systemPaths.has(path) ||
  (['/dev', '/proc', '/sys'].some((root) => isWithin(path, root)) && !path.startsWith('/dev/shm/'));

const inMemory = 'in memory';
const savedTypes: readonly string[] = ['volume', 'bind', 'cluster', 'tmpfs'];

/** Whether a system path or project file has contents that a rehearsed service may need, such as `/etc/localtime`. */
const isConfigurationPath = (path: string, { files }: MountSelectionContext): boolean =>
  files.includes(path) || (isSystemPath(path) && /^\/(?:etc|usr)\//.test(path));

/** Returns the directory of all local volumes. Administration tools mount this directory or a parent. */
const volumesDirectoryOf = ({ dataRoot }: MountSelectionContext): string =>
  join(dataRoot || '/var/lib/docker', 'volumes');

/** Returns why a mount of this type and path is not saved; null if the mount is data. */
function noDataReasonOf(type: string, path: string, files: readonly string[]): string | null {
  if (type === 'tmpfs') return inMemory;
  if (type !== 'bind') return null;
  if (files.includes(path)) return 'compose and env files are backed up separately';
  return isSystemPath(path) ? 'a system path' : null;
}

/** Checks only the type and path, because the mount's options and contents are not known yet. */
export const isSavableMount = ({ type, source, writable }: Mount, files: readonly string[]): boolean =>
  writable &&
  savedTypes.includes(type) &&
  noDataReasonOf(type, normalizeContainerPath(source), files) === null &&
  !(type === 'bind' && source.endsWith('.sock'));

/**
 * `path` is the host path, or empty if the mount has no host path. `volume` is empty for a bind mount, and for a local
 * volume with `o=bind`.
 */
export function mountSourceOf(
  mount: StorageMount,
  around: Pick<MountSelectionContext, 'options'>,
): { path: string; volume: string } {
  const { o, device } = optionsOf(mount, around);
  const isBind = /(?:^|,)r?bind(?:,|$)/.test(String(o));
  const source = isBind ? String(device) : mount.path;
  return {
    path: source === '' ? '' : normalizeContainerPath(join(source, mount.subpath)),
    // Mount a volume's directory through the volume: the engine then follows no link out of it.
    volume: mount.type === 'volume' && !(isBind && mount.subpath === '') ? mount.source : '',
  };
}

const optionsOf = ({ type, source }: Mount, { options }: Pick<MountSelectionContext, 'options'>): Json =>
  toObject(type === 'volume' ? options.get(source) : {});

/** Whether a host path contains more than one app's data. A restore would also replace everything else there. */
export const isSharedHostDirectory = (path: string, directory: string): boolean =>
  /^\/[^/]*$|^\/var\/lib$|^\/(?:home|var\/home|Users)\/[^/]+$/.test(path) ||
  (path !== '' && path !== directory && isWithin(directory, path));

/**
 * @param containers - at least the containers of the project
 * @param readers - services whose read-only mounts are copied too, for a rehearsal. A mount inside another one then has
 * its own copy: in the outer copy, a rehearsed version could replace the directory by a link
 */
export function chooseMountsToSave(
  containers: readonly Container[],
  declared: DataCoverage,
  around: MountSelectionContext,
  readers: readonly string[] = [],
): ChosenMounts {
  const own = containers.filter((each) => isServiceContainer(each, around.project));
  const isExcluded = (service: string, at: string | null) =>
    declared.excluded.some((each) => each.service === service && each.path === at);
  const found: UncheckedMount[] = [];
  const [notSaved, refusals, warnings] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const service of new Set([...declared.covered, ...readers])) {
    const mounts = own.filter((each) => serviceOf(each) === service).flatMap(({ storage }) => storage);
    for (const mount of mounts.toSorted((a, b) => (a.destination < b.destination ? -1 : 1))) {
      const { volume, path } = mountSourceOf(mount, around);
      const isConfiguration = readers.includes(service) && isConfigurationPath(path, around);
      const isRead = isConfiguration || (readers.includes(service) && !mount.writable);
      const isSaved = mount.writable && declared.covered.includes(service);
      if ((!isSaved && !isRead) || !savedTypes.includes(mount.type) || isExcluded(service, mount.destination))
        continue;
      const where = `${service}:${mount.destination}`;
      const reason =
        optionsOf(mount, around).type === 'tmpfs'
          ? inMemory
          : isConfiguration
            ? null
            : noDataReasonOf(mount.type, path, around.files);
      const refusal = findUnsavableReason(where, mount, path, around);
      if (reason !== null) notSaved.add(`${where} (${reason})`);
      else if (path !== '' && isWithin(volumesDirectoryOf(around), path))
        (isSharedHostDirectory(path, around.directory) ? refusals : warnings).add(
          `${where} is not saved: ${JSON.stringify(path)} contains the data of all containers`,
        );
      else if (refusal !== null) refusals.add(refusal);
      else {
        const subpath = volume === '' ? '' : mount.subpath;
        found.push({ service, where, volume, path, subpath, excluded: [] });
      }
    }
  }
  const excluded = own.flatMap((each) => {
    const service = serviceOf(each);
    return each.storage
      .filter(
        ({ destination, writable }) =>
          isExcluded(service, destination) || (writable && isExcluded(service, null)),
      )
      .map((mount) => ({ service, mount, path: mountSourceOf(mount, around).path }));
  });
  for (const { service, mount, path } of excluded) {
    const same = found.find((each) => each.path === path);
    if (same && isExcluded(service, mount.destination))
      refusals.add(
        `${service}:${mount.destination} is excluded, but ${same.where}, which is saved, has the same source (${JSON.stringify(path)}): in ${settingsFileName}, set both mounts to "none", or remove the exclusion of ${service}:${mount.destination}`,
      );
  }
  const hidden = new Set([...excluded.map(({ path }) => path), ...around.files]);
  const mounts = found.map((mount) => {
    const below = [...hidden].filter((path) => path !== mount.path && isWithin(path, mount.path));
    return { ...mount, excluded: below.map((path) => relative(mount.path, path)) };
  });
  return {
    ...{
      mounts: readers.length > 0 ? distinctMountsOf(mounts) : outermostMountsOf(mounts),
      notSaved: [...notSaved],
    },
    ...{ refusals: [...refusals], warnings: [...warnings] },
  };
}

const networkTypes = /^(?:nfs4?|cifs|smb\w*|9p|ceph|afs|glusterfs)$/;

/** Returns why a mount's driver, options or source prevents a restore point; null if nothing does. */
function findUnsavableReason(
  where: string,
  mount: StorageMount,
  path: string,
  around: MountSelectionContext,
): string | null {
  const { type, driver } = mount;
  const { type: options, o } = optionsOf(mount, around);
  const exclude = `exclude it by setting "${where}: none" under data in ${settingsFileName}`;
  if (type === 'cluster' || (type === 'volume' && driver !== '' && driver !== 'local'))
    return `${where} uses the volume driver ${driver || type}, but only local volumes can be saved: move its data to a local volume, or ${exclude}`;
  if (networkTypes.test(String(options)) || /(?:^|,)addr=/.test(String(o)))
    return `${where} is a volume on a network file system (${options}): move its data to a local disk, or ${exclude}`;
  if (!path.startsWith('/'))
    return `the source of ${where} (${JSON.stringify(path)}) cannot be saved in a restore point: ${exclude}`;
  const state = join(around.directory, stateDirectoryName);
  const overlap = [state, around.restorePointsDirectory].find(
    (each) => isWithin(each, path) || isWithin(path, each),
  );
  return overlap === undefined
    ? null
    : `the source of ${where} (${JSON.stringify(path)}) overlaps with the updater directory ${overlap}: mount a directory that contains only data, or ${exclude}`;
}

interface NestedMount {
  path: string;
  excluded: readonly string[];
}

/** Removes mounts inside other saved mounts. Of several mounts with the same source, keeps the first. */
export const outermostMountsOf = <M extends NestedMount>(mounts: readonly M[]): M[] =>
  mounts.filter(
    (mount, at) =>
      !mounts.some(
        (other, before) => reaches(other, mount.path) && (other.path !== mount.path || before < at),
      ),
  );

/** Of several mounts with the same source, keeps the first. */
const distinctMountsOf = <M extends NestedMount>(mounts: readonly M[]): M[] =>
  mounts.filter((mount, at) => mounts.findIndex(({ path }) => path === mount.path) === at);

/** Checks whether a saved mount contains a path and does not exclude it. */
const reaches = ({ path: root, excluded }: NestedMount, path: string): boolean =>
  isWithin(path, root) && !excluded.some((each) => isWithin(path, join(root, each)));

/**
 * Finds running containers that can write to saved data and are not stopped. For administration tools, which mount the
 * compose directory or all volumes, returns only a warning. `writers` are the containers in `refusals`.
 */
export function evaluateRunningWriters(
  mounts: readonly UncheckedMount[],
  containers: readonly Container[],
  around: MountSelectionContext,
  isStopped: (container: Container) => boolean,
): { refusals: string[]; warnings: string[]; writers: Container[] } {
  const [refusals, warnings] = [new Set<string>(), new Set<string>()];
  const writers = new Set<Container>();
  for (const container of containers.filter((each) => isUp(each) && !isStopped(each))) {
    for (const mount of container.storage.filter(({ writable }) => writable)) {
      const { path } = mountSourceOf(mount, around);
      const shared = mounts.find((each) => reaches(each, path) || (path && isWithin(each.path, path)));
      if (!shared || noDataReasonOf(mount.type, path, []) !== null) continue;
      const sentence = `the running container ${container.name} can write to ${shared.where}, because it mounts ${JSON.stringify(path)} read-write`;
      const save = `set "${serviceOf(container)}: save" under data in ${settingsFileName}`;
      if ([volumesDirectoryOf(around), around.directory].some((each) => isWithin(each, path)))
        warnings.add(
          `${sentence}; ${container.name} must not write to ${shared.where} while data is being copied or restored`,
        );
      else {
        writers.add(container);
        refusals.add(
          isServiceContainer(container, around.project)
            ? `${sentence}, and the update does not stop that container. Stop it yourself, mount ${JSON.stringify(path)} read-only, or ${save}`
            : `${sentence}, and the update does not stop that container. Stop it yourself or mount ${JSON.stringify(path)} read-only`,
        );
      }
    }
  }
  return { refusals: [...refusals], warnings: [...warnings], writers: [...writers] };
}
