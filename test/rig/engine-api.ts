import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface EngineAnswer {
  status: number;
  body: string;
}

/** The socket of the engine that `docker` uses. */
export const engineSocket = (process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock').replace(
  /^unix:\/\//,
  '',
);

/** Sends a request to the engine over its socket, without the 15 ms or more of a `docker` process. */
export function askEngine(method: string, path: string, socketPath = engineSocket): Promise<EngineAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, agent: false, timeout: 60_000 }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      );
    });
    asked.on('timeout', () => asked.destroy(new Error(`the engine does not answer ${method} ${path}`)));
    asked.on('error', reject);
    asked.end();
  });
}

/**
 * Whether the engine stores whole indexes (the containerd store) and lists an image's manifests. Then image ids are
 * digests of indexes, and a build with an existing tag removes the image that the tag pointed to.
 */
export async function keepsIndexes(): Promise<boolean> {
  const [version, info] = await Promise.all(['/version', '/info'].map((path) => askEngine('GET', path)));
  const { ApiVersion } = JSON.parse(version?.body ?? '{}') as { ApiVersion: string };
  return Number(ApiVersion.split('.')[1]) >= 48 && (info?.body ?? '').includes('io.containerd.snapshotter');
}

/** The fields of a container inspection that the tests use. */
export interface ContainerInspection {
  Id: string;
  Name: string;
  Image: string;
  RestartCount: number;
  State: {
    Status: string;
    Running: boolean;
    StartedAt: string;
    ExitCode: number;
    Health?: { Status: string };
  };
  Config: { Image: string; Labels: Record<string, string>; Env: string[]; Cmd: string[] | null };
  HostConfig: { RestartPolicy: { Name: string } };
  Mounts: { Type: string; Name?: string; Source: string; Destination: string }[];
}

interface Listed {
  Id: string;
  Names: string[] | null;
  Labels?: Record<string, string> | null;
  Mounts?: { Type: string; Name?: string }[] | null;
}

/** Label of the containers of restore points. Its value begins with the project. */
const holderLabel = 'svc-updater.restore-point';

/** All containers of the engine, running or not, whose name contains the text or whose project has that name. */
export async function findContainers(text: string): Promise<ContainerInspection[]> {
  const [named, labelled] = await Promise.all([
    get<Listed[]>(`/containers/json?all=1&filters=${filter({ name: [text] })}`),
    get<Listed[]>(
      `/containers/json?all=1&filters=${filter({ label: [`com.docker.compose.project=${text}`] })}`,
    ),
  ]);
  const listed = [...(named ?? []), ...(labelled ?? [])];
  // Containers of a restore point are named after the project, but they are not part of it.
  const own = listed.filter(({ Labels }) => Labels?.[holderLabel] === undefined);
  const ids = new Set(own.map(({ Id }) => Id));
  const found = await Promise.all([...ids].map((id) => get<ContainerInspection>(`/containers/${id}/json`)));
  // A container may have been removed between the two requests.
  return found.filter((each) => each !== undefined);
}

/** The current state of the containers, without removed ones. */
export async function inspectAgain(
  containers: readonly ContainerInspection[],
): Promise<ContainerInspection[]> {
  const found = await Promise.all(
    containers.map(({ Id }) => get<ContainerInspection>(`/containers/${Id}/json`)),
  );
  return found.filter((each) => each !== undefined);
}

/** Names of all containers, running or not, that match the engine's filters. */
export async function listContainers(filters: Record<string, string[]>): Promise<string[]> {
  const found = await get<Listed[]>(`/containers/json?all=1&filters=${filter(filters)}`);
  return (found ?? []).map((each) => named(each).name);
}

/** The images of repositories that match a pattern such as `host/folder/*`, with all their tags. */
export async function listImages(repositories: string): Promise<{ id: string; tags: string[] }[]> {
  const found = await get<{ Id: string; RepoTags: string[] | null }[]>(
    `/images/json?filters=${filter({ reference: [repositories] })}`,
  );
  return (found ?? []).map(({ Id, RepoTags }) => ({ id: Id, tags: RepoTags ?? [] }));
}

/** Whether the engine has a volume of that name. */
export const volumeExists = async (name: string): Promise<boolean> =>
  (await get(`/volumes/${name}`)) !== undefined;

export interface Named {
  containers: { id: string; name: string }[];
  /** Updaters launched by a server: all have the same name, and a label with their instance. */
  updaters: { id: string; name: string }[];
  networks: { id: string; name: string }[];
  /** Includes anonymous volumes of the containers. */
  volumes: string[];
  /** References by tag and by digest. */
  images: string[];
}

const updaterLabel = 'svc-updater.project';

/** All objects of the engine whose name, or whose project's name, contains the text. */
export async function findNamed(text: string): Promise<Named> {
  const wanted = filter({ name: [text] });
  const [containers, updaters, networks, volumes, images] = await Promise.all([
    get<Listed[]>(`/containers/json?all=1&filters=${wanted}`),
    listUpdaters(),
    get<{ Id: string; Name: string }[]>(`/networks?filters=${wanted}`),
    get<{ Volumes: { Name: string }[] | null }>(`/volumes?filters=${wanted}`),
    get<{ RepoTags: string[] | null; RepoDigests: string[] | null }[]>(
      `/images/json?filters=${filter({ reference: referencesWith(text) })}`,
    ),
  ]);
  return {
    containers: (containers ?? []).map(named),
    updaters: updatersOf(updaters, text),
    networks: (networks ?? []).map(({ Id, Name }) => ({ id: Id, name: Name })),
    volumes: [...new Set([...(volumes?.Volumes ?? []).map(({ Name }) => Name), ...anonymousOf(containers)])],
    images: (images ?? [])
      .flatMap(({ RepoTags, RepoDigests }) => [...(RepoTags ?? []), ...(RepoDigests ?? [])])
      .filter((reference) => reference.includes(text)),
  };
}

/** Whether the engine has generated the volume's name. */
export const isAnonymous = (volume: string): boolean => /^[0-9a-f]{64}$/.test(volume);

/**
 * After compose has passed an anonymous volume to the next container, the engine no longer removes it with the
 * container.
 */
const anonymousOf = (listed: Listed[] | undefined) =>
  (listed ?? []).flatMap(({ Mounts }) =>
    (Mounts ?? []).flatMap(({ Type, Name = '' }) => (Type === 'volume' && isAnonymous(Name) ? [Name] : [])),
  );

const listUpdaters = () =>
  get<Listed[]>(`/containers/json?all=1&filters=${filter({ label: [updaterLabel] })}`);

/** All containers of restore points. */
export const listHolders = async (): Promise<Listed[]> =>
  (await get<Listed[]>(`/containers/json?all=1&filters=${filter({ label: [holderLabel] })}`)) ?? [];

const updatersOf = (listed: Listed[] | undefined, text: string) =>
  (listed ?? []).filter(({ Labels }) => Labels?.[updaterLabel]?.includes(text)).map(named);

/**
 * Patterns of all references that contain the text. The engine measures the disk usage of each image that it lists,
 * which takes seconds on the containerd store. It does not measure images that the patterns exclude.
 */
const referencesWith = (text: string): string[] =>
  ['', '*/', '*/*/'].flatMap((host) => ['', '/*', '/*/*'].map((name) => `${host}*${text}*${name}`));

const named = ({ Id, Names }: Listed) => ({ id: Id, name: Names?.[0]?.slice(1) ?? Id });

/**
 * Removes all objects of the engine whose name contains the text: containers, networks, volumes, and image references.
 */
export async function removeNamed(text: string): Promise<void> {
  if (text.length < 8) throw new Error(`too short to tell ours from other people's: ${text}`);
  // First, because a running updater starts containers.
  await Promise.all(
    updatersOf(await listUpdaters(), text).map(({ id }) => remove(`/containers/${id}?force=1&v=1`)),
  );
  // Containers of restore points. Their names may be random, if the engine already had containers with their names.
  const holders = (await listHolders()).filter(({ Labels }) => Labels?.[holderLabel]?.includes(text));
  await Promise.all(holders.map(({ Id }) => remove(`/containers/${Id}?force=1&v=1`)));
  const found = await findNamed(text);
  await Promise.all(found.containers.map(({ id }) => remove(`/containers/${id}?force=1&v=1`)));
  await Promise.all([
    ...found.networks.map(({ id }) => remove(`/networks/${id}`)),
    ...found.volumes.map((name) => remove(`/volumes/${name}?force=1`)),
    ...found.images.map((reference) => remove(`/images/${encodeURIComponent(reference)}?force=1`)),
  ]);
}

async function remove(path: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const { status, body } = await askEngine('DELETE', path);
    if (status < 300 || status === 404) return;
    // Another process is removing the object, or an object that uses it, such as a container with `--rm`.
    if (tries === 1_200) throw new Error(`DELETE ${path}: ${status} ${body}`);
    await sleep(50);
  }
}

async function get<T>(path: string): Promise<T | undefined> {
  const { status, body } = await askEngine('GET', path);
  if (status === 404) return undefined;
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${body}`);
  return JSON.parse(body) as T;
}

function filter(filters: Record<string, string[]>): string {
  return encodeURIComponent(JSON.stringify(filters));
}
