import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type ContainerInspection, findContainers, isAnonymous } from './engine-api.ts';

export interface ContainerState {
  id: string;
  service: string;
  /** The id of the image. */
  image: string;
  /** The reference that the container was created from. */
  reference: string;
  startedAt: string;
  status: string;
  health: string | undefined;
  restarts: number;
  /** Names of the anonymous volumes by mount path. */
  volumes: Record<string, string>;
}

export interface FileState {
  kind: 'file' | 'directory' | 'link' | 'other';
  /** Permission bits in octal. */
  mode: string;
  /** `uid:gid` */
  owner: string;
  /** The text of a file, or the target of a link. */
  text: string;
}

/** The state of an instance at one moment, as plain data. */
export interface Snapshot {
  /** The response of the app over HTTP; null if there is none. */
  version: string | null;
  /** The version that the worker has written within the last second or so. */
  workerVersion: string | null;
  /** The test file of the instance, from disk and from the app. */
  kept: { onDisk: string | null; served: string | null };
  /** The project's containers by name. */
  containers: Record<string, ContainerState>;
  /** Containers that belong to the instance and should not exist, with their state. */
  strays: string[];
  /** The compose directory by relative path, without `data` and `.svc-updater`. */
  files: Record<string, FileState>;
}

/** The containers of a project, and containers that should not exist: wrong names, one-off containers, updaters. */
export async function containerStates(
  project: string,
  name: string,
): Promise<Pick<Snapshot, 'containers' | 'strays'>> {
  const containers: Snapshot['containers'] = {};
  const strays: string[] = [];
  const all = await findContainers(name);
  for (const found of all.sort((a, b) => a.Name.localeCompare(b.Name))) {
    const own = found.Name.slice(1);
    const service = found.Config.Labels['com.docker.compose.service'];
    const parts = [project, service, found.Config.Labels['com.docker.compose.container-number']];
    // Separated by underscores with `--compatibility`.
    if (own === parts.join('-') || own === parts.join('_'))
      containers[own] = containerState(found, service ?? '');
    else strays.push(`${own} (${found.State.Status})`);
  }
  return { containers, strays: strays.sort() };
}

function containerState(found: ContainerInspection, service: string): ContainerState {
  return {
    id: found.Id,
    service,
    image: found.Image,
    reference: found.Config.Image,
    startedAt: found.State.StartedAt,
    status: found.State.Status,
    health: found.State.Health?.Status,
    restarts: found.RestartCount,
    volumes: Object.fromEntries(
      found.Mounts.flatMap(({ Name, Destination }) =>
        Name !== undefined && isAnonymous(Name) ? [[Destination, Name]] : [],
      ),
    ),
  };
}

export async function fileStates(directory: string, under = ''): Promise<Record<string, FileState>> {
  const states: Record<string, FileState> = {};
  for (const name of (await readdir(join(directory, under))).sort()) {
    // The directory in the labels may be a subdirectory.
    if (name === '.svc-updater' || (under === '' && name === 'data')) continue;
    const path = join(under, name);
    const state = await fileState(join(directory, path));
    states[path] = state;
    if (state.kind === 'directory') Object.assign(states, await fileStates(directory, path));
  }
  return states;
}

async function fileState(path: string): Promise<FileState> {
  const stat = await lstat(path);
  const shape = { mode: (stat.mode & 0o7777).toString(8), owner: `${stat.uid}:${stat.gid}` };
  if (stat.isSymbolicLink()) return { kind: 'link', ...shape, text: await readlink(path) };
  if (stat.isDirectory()) return { kind: 'directory', ...shape, text: '' };
  if (!stat.isFile()) return { kind: 'other', ...shape, text: '' };
  const bytes = await readFile(path);
  const text = bytes.toString();
  return { kind: 'file', ...shape, text: Buffer.from(text).equals(bytes) ? text : bytes.toString('latin1') };
}
