import { differs } from '../judge/differs.ts';
import { askEngine, findContainers, listImages } from '../rig/engine-api.ts';
import { type FileState, fileStates } from '../rig/snapshot.ts';
import type { Installed } from './installed.ts';

/** The state of a product at one moment, as seen by its owner. */
export interface View {
  version: string | null;
  /** By container name. */
  containers: Record<string, ContainerView>;
  /** Networks and volumes by name: id and creation time. */
  networks: Record<string, string>;
  volumes: Record<string, string>;
  files: Record<string, FileState>;
  /** Image ids by reference. */
  tags: Record<string, string>;
}

interface ContainerView {
  id: string;
  service: string;
  image: string;
  /** The reference that the container was created from, without the registry and the name of the test. */
  reference: string;
  startedAt: string;
  status: string;
  health: string | undefined;
  /** Mounts; volumes by name. */
  mounts: string[];
}

export async function view(installed: Installed): Promise<View> {
  const { name, directory, place } = installed;
  const [version, found, networks, volumes, files, tags] = await Promise.all([
    installed.version(),
    findContainers(name),
    ask<{ Id: string; Name: string }[]>(`/networks?filters=${named(name)}`),
    ask<{ Volumes: { Name: string; CreatedAt: string }[] | null }>(`/volumes?filters=${named(name)}`),
    fileStates(directory),
    // The engine's `*` does not match a `/`.
    Promise.all([`${place.registry}/*`, `${place.registry}/*/*`].map(listImages)),
  ]);
  return {
    version,
    containers: Object.fromEntries(
      found
        .sort((a, b) => a.Name.localeCompare(b.Name))
        .map(({ Name, Id, Image, Config, State, Mounts }) => [
          Name.slice(1),
          {
            id: Id,
            service: Config.Labels['com.docker.compose.service'] ?? '',
            image: Image,
            reference: Config.Image.replace(`${place.registry}/`, ''),
            startedAt: State.StartedAt,
            status: State.Status,
            health: State.Health?.Status,
            mounts: Mounts.map(
              ({ Name: volume, Source, Destination }) => `${volume ?? Source}:${Destination}`,
            ).sort(),
          },
        ]),
    ),
    networks: Object.fromEntries(networks.map(({ Id, Name }) => [Name, Id])),
    volumes: Object.fromEntries((volumes.Volumes ?? []).map(({ Name, CreatedAt }) => [Name, CreatedAt])),
    files: Object.fromEntries(Object.entries(files).filter(([, { kind }]) => kind === 'file')),
    tags: Object.fromEntries(
      tags.flat().flatMap(({ id, tags }) => tags.map((tag) => [tag.replace(`${place.registry}/`, ''), id])),
    ),
  };
}

/** Nothing has changed. */
export const judgeSame = (before: View, after: View): string[] => [
  ...differs('the version that answers', before.version, after.version),
  ...differs('containers', before.containers, after.containers),
  ...differs('networks', before.networks, after.networks),
  ...differs('volumes', before.volumes, after.volumes),
  ...differs('files', before.files, after.files),
  ...differs('tags', before.tags, pick(after.tags, Object.keys(before.tags))),
];

export interface Moved {
  /** The response of the app; null if the app need not respond. */
  version: string | null;
  services: readonly string[];
  /** The expected texts of files. */
  files: Readonly<Record<string, string>>;
  /** Whether the services must be healthy. */
  well: boolean;
}

/**
 * Checks that these services run the release in new containers with the same names and mounts, that all other
 * containers, networks and volumes are unchanged, and that only the version in the files is different.
 */
export function judgeMoved(before: View, after: View, { version, services, files, well }: Moved): string[] {
  const isMoved = ({ service }: ContainerView) => services.includes(service);
  const others = ({ containers }: View) =>
    Object.fromEntries(Object.entries(containers).filter(([, state]) => !isMoved(state)));
  const old = Object.entries(before.containers).filter(([, state]) => isMoved(state));
  const oldImages = new Set(Object.values(before.containers).map(({ image }) => image));
  return [
    ...(version === null ? [] : differs('the version that answers', version, after.version)),
    ...differs('names of containers', Object.keys(before.containers), Object.keys(after.containers)),
    ...differs('other containers', others(before), others(after)),
    ...old.flatMap(([name, { mounts, id }]) => {
      const now = after.containers[name];
      if (now === undefined) return [];
      return [
        ...differs(`mounts of ${name}`, mounts, now.mounts),
        ...(well && (now.id === id || oldImages.has(now.image))
          ? [`${name} was not moved: it runs ${now.reference}`]
          : []),
        ...(well && now.status !== 'running' ? [`${name} is ${now.status}`] : []),
        ...(well && (now.health ?? 'healthy') !== 'healthy' ? [`${name} is ${now.health}`] : []),
      ];
    }),
    ...differs('networks', before.networks, after.networks),
    ...differs('volumes', before.volumes, after.volumes),
    ...differs(
      'files',
      Object.fromEntries(
        Object.entries(before.files).map(([name, state]) => [name, { ...state, text: files[name] }]),
      ),
      after.files,
    ),
  ];
}

const pick = (all: Readonly<Record<string, string>>, keys: readonly string[]) =>
  Object.fromEntries(keys.map((key) => [key, all[key]]));

const named = (name: string): string => encodeURIComponent(JSON.stringify({ name: [name] }));

async function ask<T>(path: string): Promise<T> {
  const { status, body } = await askEngine('GET', path);
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${body}`);
  return JSON.parse(body) as T;
}
