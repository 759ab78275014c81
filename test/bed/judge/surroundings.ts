import { askEngine, type ContainerInspection, findContainers, findNamed } from '../../rig/engine-api.ts';
import { fileStates } from '../../rig/snapshot.ts';
import type { Place } from './look.ts';

/** Services whose containers an update replaces. */
const moved = ['app', 'worker'];

/** Containers, volumes, networks, tags and compose files. */
export async function lookAtSurroundings({ project, directory }: Place): Promise<Record<string, unknown>> {
  const [containers, named] = await Promise.all([findContainers(project), findNamed(project)]);
  const services = containers
    .filter(({ Config }) => Config.Labels['com.docker.compose.project'] === project)
    .map((container) => {
      const service = container.Config.Labels['com.docker.compose.service'] ?? '';
      if (moved.includes(service)) return [container.Name, definition(container)];
      return [container.Name, service === 'db' ? stopped(container) : whole(container)];
    });
  const { volumes, networks } = named;
  const anonymous = containers.flatMap(({ Mounts }) => Mounts.map(({ Name }) => Name));
  const tags = await Promise.all([...new Set(containers.map(({ Config }) => Config.Image))].map(imageOf));
  return {
    ...Object.fromEntries(services),
    volumes: volumes.filter((name) => name.startsWith(project) || anonymous.includes(name)).sort(),
    networks: networks.map(({ id, name }) => `${name} ${id}`).sort(),
    tags: Object.fromEntries(tags),
    files: await fileStates(directory),
  };
}

/** Of a container that may have been replaced by one of the same image and configuration. */
function definition(container: ContainerInspection): object {
  const { Image, State, Config, HostConfig, Mounts } = container;
  const { RestartPolicy, Memory, Binds, NetworkMode } = HostConfig as Record<string, unknown>;
  const { NetworkSettings } = container as unknown as {
    NetworkSettings: { Networks: Record<string, Network> };
  };
  const networks = Object.entries(NetworkSettings.Networks).map(([name, { NetworkID, Aliases }]) => {
    // One of the aliases is the container's own id.
    return `${name} ${NetworkID} ${[...(Aliases ?? [])].filter((each) => !/^[0-9a-f]{12}$/.test(each)).sort()}`;
  });
  const { 'com.docker.compose.replace': _, ...labels } = Config.Labels;
  const mounts = Mounts.map(
    ({ Type, Name, Source, Destination }) => `${Type} ${Name ?? ''} ${Source} ${Destination}`,
  );
  return {
    ...{
      Image,
      status: State.Status,
      reference: Config.Image,
      env: [...Config.Env].sort(),
      command: Config.Cmd,
    },
    ...{ labels, RestartPolicy, Memory, Binds, NetworkMode, networks, mounts: mounts.sort() },
  };
}

interface Network {
  NetworkID: string;
  Aliases: string[] | null;
}

/** The same container, which may have been stopped and started. */
const stopped = ({ Id, Image, State, HostConfig }: ContainerInspection): object => ({
  ...{ Id, Image, status: State.Status, policy: HostConfig.RestartPolicy },
});

/** The same container, which was never stopped. */
function whole({ Id, Image, State, RestartCount }: ContainerInspection): object {
  return { Id, Image, status: State.Status, started: State.StartedAt, RestartCount };
}

async function imageOf(reference: string): Promise<[string, string]> {
  const { body } = await askEngine('GET', `/images/${encodeURIComponent(reference)}/json`);
  return [reference, (JSON.parse(body) as { Id?: string }).Id ?? 'none'];
}
