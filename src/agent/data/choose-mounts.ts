// Which mounts of an app hold what it keeps, and what keeps them from being kept.

import { normalize } from 'node:path';
import { type Json, list, object } from '../../engine/json.ts';
import { composeLabels } from '../../engine/labels.ts';
import { isWithin } from '../../files/host-paths.ts';

/** A mount that is kept. */
export interface FileMount {
  /** The volume's name; empty for a bind. */
  volume: string;
  /** On the host; a volume's, too. */
  path: string;
  isFile: boolean;
  /** Where it begins in its file system once all links are followed, as the kernel has it: `/opt/svc/data`. */
  root: string;
  /** For people: `app:/data`. */
  where: string;
}

/** A mount that nobody has looked into yet. */
type Unseen = Omit<FileMount, 'isFile' | 'root'>;

interface HolderMount {
  type: string;
  volume: string;
  path: string;
  destination: string;
  driver: string;
  writable: boolean;
}

/** What counts of a container here. */
export interface Holder {
  name: string;
  service: string;
  /** Of its own project, and no one-off container. */
  project: string;
  isOneOff: boolean;
  isUp: boolean;
  imageId: string;
  mounts: readonly HolderMount[];
  /** Where it writes to memory. */
  tmpfs: readonly string[];
  /** The compose directory, the compose and the env files that it was made from. */
  directory: string;
  files: readonly string[];
}

/** @param raw the engine's inspection */
export function readHolder(raw: Json): Holder {
  const [config, host, state] = [object(raw.Config), object(raw.HostConfig), object(raw.State)];
  const labels = object(config.Labels) as Record<string, string>;
  const mounts = list<Json>(raw.Mounts).map((mount) => ({
    type: String(mount.Type),
    volume: mount.Type === 'volume' ? String(mount.Name) : '',
    path: String(mount.Source ?? ''),
    destination: String(mount.Destination),
    driver: String(mount.Driver ?? ''),
    writable: mount.RW === true,
  }));
  const paths = [composeLabels.files, composeLabels.envFiles].flatMap((label) =>
    (labels[label] ?? '').split(','),
  );
  return {
    name: String(raw.Name).replace(/^\//, ''),
    service: labels[composeLabels.service] ?? '',
    project: labels[composeLabels.project] ?? '',
    isOneOff: labels[composeLabels.oneOff] === 'True',
    isUp: ['running', 'restarting', 'paused'].includes(String(state.Status)),
    imageId: String(raw.Image),
    mounts,
    tmpfs: [
      ...Object.entries(object(host.Tmpfs)).flatMap(([path, how]) =>
        /\bro\b/.test(String(how)) ? [] : [path],
      ),
      ...mounts.flatMap(({ type, destination, writable }) =>
        type === 'tmpfs' && writable ? [destination] : [],
      ),
    ],
    directory: labels[composeLabels.directory] ?? '',
    files: paths.filter((path) => path.startsWith('/')),
  };
}

/** The machine's own, which no update changes: its sockets, clocks, devices, names, programs. */
const ofSystem =
  /\.sock$|^\/(?:(?:var\/)?run(?!\/desktop\/mnt\/)|dev|proc|sys|boot|lib|usr|etc\/(?:localtime|timezone|hosts|hostname|resolv\.conf|machine-id|passwd|group|ssl|ca-certificates))(?:\/|$)/;
/** A volume may lie anywhere. */
export const isOfSystem = ({ volume, path }: Pick<FileMount, 'volume' | 'path'>): boolean =>
  volume === '' && ofSystem.test(path);

/** What an app writes there, it does not expect to find again. */
const isPassing = (path: string): boolean => /\/\.?(?:te?mp|run|shm|caches?)(?:\/|$)/i.test(path);

interface Surroundings {
  /** The directory of the restore points on the host. */
  point: string;
  /** Options of volumes, by name. */
  options: ReadonlyMap<string, Json>;
}

/** @param holders the containers of the services whose files are kept @returns mounts of which nobody knows yet whether they are files */
export function chooseMounts(
  holders: readonly Holder[],
  { point, options }: Surroundings,
): { mounts: Unseen[]; refusals: string[] } {
  const found: Unseen[] = [];
  const refusals = new Set<string>();
  for (const { service, mounts, tmpfs, directory, files } of holders) {
    for (const path of tmpfs.filter((each) => !isPassing(each))) {
      refusals.add(
        `${service}:${path} is in memory (tmpfs), and is gone with its container: give it a volume, or a path of /tmp`,
      );
    }
    for (const { type, volume, path, destination, driver, writable } of mounts) {
      const where = `${service}:${destination}`;
      if (
        !writable ||
        (type !== 'volume' && type !== 'bind' && type !== 'cluster') ||
        isOfSystem({ volume, path })
      )
        continue;
      if (type === 'cluster' || (driver !== '' && driver !== 'local')) {
        refusals.add(
          `${where} is a volume of the driver ${driver || type}, whose files are somewhere else: move them to a volume of the driver local, or keep them by its own means`,
        );
        continue;
      }
      const option = Object.keys(options.get(volume) ?? {});
      if (volume !== '' && option.length > 0) {
        refusals.add(
          `${where} is a volume with options (${option.sort().join(', ')}), whose files are somewhere else: mount the directory itself`,
        );
        continue;
      }
      const own = [directory, ...files, point].find((each) => each !== '' && isWithin(each, path));
      if (own !== undefined) {
        refusals.add(
          `${where} is ${path} with ${own}, which is the update's own: mount a directory that holds nothing but data`,
        );
        continue;
      }
      found.push({ volume, path: normalize(path), where });
    }
  }
  return { mounts: outermost(found), refusals: [...refusals] };
}

/** Each path once, and none that lies in another one: what is kept with that one is not kept twice. */
function outermost<M extends { path: string; where: string }>(mounts: readonly M[]): M[] {
  const kept: M[] = [];
  for (const mount of mounts.toSorted((a, b) => a.path.length - b.path.length)) {
    if (!kept.some(({ path }) => isWithin(mount.path, path))) kept.push(mount);
  }
  return kept.toSorted((a, b) => (a.where < b.where ? -1 : 1));
}

/** A container that may write into one of the mounts while they are read, as `container backup has app:/data open for writing`. */
export function writersOf(
  mounts: readonly FileMount[],
  holders: readonly Holder[],
  isAllowed: (holder: Holder) => boolean,
): string[] {
  return holders
    .filter((holder) => holder.isUp && !isAllowed(holder))
    .flatMap(({ name, mounts: theirs }) => {
      const shared = mounts.find(({ volume, path }) =>
        theirs.some(
          (their) =>
            their.writable &&
            !isOfSystem(their) &&
            ((volume !== '' && their.volume === volume) ||
              (their.path !== '' && (isWithin(their.path, path) || isWithin(path, their.path)))),
        ),
      );
      return shared ? [`container ${name} has ${shared.where} open for writing`] : [];
    });
}
