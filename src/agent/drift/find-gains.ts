import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { copiedPaths } from '../../engine/api/copied-files.ts';
import { listVolumes } from '../../engine/api/query.ts';
import type { Model } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { requestedMounts } from '../../engine/container.ts';
import { type Json, list, object } from '../../engine/json.ts';
import { type DefinedContainer, gainedRights, type Right, type Surroundings } from '../../engine/rights.ts';
import { type HostPaths, isWithin } from '../../files/host-paths.ts';
import type { InstanceFacts } from './dry-run.ts';

/** A container, and what it would be made again as. */
export interface Replaced {
  now: DefinedContainer;
  next: DefinedContainer;
}

/**
 * The rights that any of these containers lacks and would get, each once. A volume that is there stays as it is, whatever
 * `model` says of it. @throws UpdateError engine-away
 */
export async function findGains(
  engine: Engine,
  { paths, project }: InstanceFacts,
  model: Model,
  replaced: readonly Replaced[],
): Promise<Right[]> {
  const volumesOf = ({ hostConfig }: DefinedContainer) =>
    requestedMounts(hostConfig).flatMap(({ type, source }) => (type === 'volume' ? [source] : []));
  const known = new Set(replaced.flatMap(({ now }) => volumesOf(now)));
  const asked = replaced.flatMap(({ next }) => volumesOf(next)).filter((name) => !known.has(name));
  const made = await listVolumes(engine, [...new Set(asked)]);
  const surroundings: Surroundings = {
    isOwn: (path) => isInside(paths, path, project.directory),
    volumeOptions: (name) =>
      made.find((volume) => volume.name === name)?.options ??
      object(Object.values(model.volumes ?? {}).find((volume) => volume?.name === name)?.driver_opts),
  };
  const gains = replaced.flatMap(({ now, next }) => gainedRights(now, next, surroundings));
  return [...new Map(gains.map((each) => [each.name, each])).values()];
}

/** Whether a path of the host lies in a directory of it, wherever links of it lead. */
function isInside(paths: HostPaths, path: string, directory: string): boolean {
  const [real, home] = [path, directory].map((each) => realPath(paths.fromHost(each)));
  return typeof real === 'string' && typeof home === 'string' && isWithin(real, home);
}

/** Null where it leads to what is not here; of what is not there yet, where it would be made. */
function realPath(here: string | null): string | null {
  if (here === null) return null;
  let there = here;
  while (lstatSync(there, { throwIfNoEntry: false }) === undefined) there = dirname(there);
  try {
    return join(realpathSync(there), relative(there, here));
  } catch {
    return null;
  }
}

/**
 * What the files of a generated release give to the services that are recreated and they have not today, one sentence a
 * service. @throws UpdateError engine-away
 */
export async function releaseGains(
  engine: Engine,
  installation: InstanceFacts,
  model: Model,
): Promise<string[]> {
  const sentences = installation.services.map(async ({ name, containers }) => {
    const image = installation.imagesInUse.get(containers[0]?.imageId ?? '');
    const defined = (of: Model) => definedByModel(of, name, String(image?.config?.User ?? ''));
    const replaced = { now: defined(installation.model), next: defined(model) };
    const gains = await findGains(engine, installation, model, [replaced]);
    if (gains.length === 0) return [];
    return [`the release gives ${name} what it has not today: ${gains.map((gain) => gain.name).join('; ')}`];
  });
  return (await Promise.all(sentences)).flat();
}

/** What compose's model says of a service, in the engine's words, as far as it gives rights. @param user of the image */
export function definedByModel(model: Model, name: string, user: string): DefinedContainer {
  const service = model.services[name] ?? {};
  const raw = service as Json;
  const reservations = object(object(object(raw.deploy).resources).reservations);
  const files = (['secrets', 'configs'] as const).flatMap((kind) =>
    (service[kind] ?? []).flatMap((reference) => {
      const Source = model[kind]?.[reference.source]?.file;
      const [Target] = copiedPaths({ [kind]: [reference] });
      return Source === undefined ? [] : [{ Type: 'bind', Source, Target, ReadOnly: true }];
    }),
  );
  const mounts = (service.volumes ?? []).map(({ type, source = '', target, read_only }) => ({
    Type: type,
    Source: type === 'volume' ? (model.volumes?.[source]?.name ?? source) : source,
    Target: target,
    ReadOnly: read_only,
  }));
  const socket = '/var/run/docker.sock';
  const hostConfig = {
    Privileged: raw.privileged,
    NetworkMode: raw.network_mode,
    PidMode: raw.pid,
    IpcMode: raw.ipc,
    UTSMode: raw.uts,
    UsernsMode: raw.userns_mode,
    CgroupnsMode: raw.cgroup,
    CapAdd: raw.cap_add,
    CapDrop: raw.cap_drop,
    Devices: (list(raw.devices) as Json[]).map(({ source, permissions }) => ({
      PathOnHost: source,
      CgroupPermissions: permissions,
    })),
    DeviceCgroupRules: raw.device_cgroup_rules,
    DeviceRequests: ([...list(raw.gpus), ...list(reservations.devices)] as Json[]).map((request) => ({
      Driver: request.driver,
      Count: request.count,
      DeviceIDs: request.device_ids,
      Capabilities: request.capabilities,
    })),
    SecurityOpt: raw.security_opt,
    VolumesFrom: raw.volumes_from,
    GroupAdd: raw.group_add,
    Mounts: [
      ...mounts,
      ...files,
      ...(raw.use_api_socket === true ? [{ Type: 'bind', Source: socket, Target: socket }] : []),
    ],
  };
  return { config: { User: raw.user ?? user }, hostConfig };
}
