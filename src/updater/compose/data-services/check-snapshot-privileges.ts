import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ComposeProject } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import {
  type ContainerDefinition,
  containerDefinitionOf,
  findGainedPrivileges,
  type HostPrivilege,
} from '../../../engine/comparison/find-gained-privileges.ts';
import type { ContainerSnapshot } from '../../../engine/containers/container-snapshot.ts';
import { replaceContainerIds } from '../../../engine/containers/recreate-container.ts';
import { type Json, toList, toObject } from '../../../engine/objects/json.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { ContainerRecord } from '../../run/state/rollout.ts';
import { recordUpRequests } from '../inspect/dry-run.ts';

/** Sources of the privileges that a container snapshot may grant. */
interface PrivilegeSources {
  project: ComposeProject;
  /** ID of the updater's own container, from which the engine's defaults are read. */
  ownId: string;
  /** IDs of the service's existing containers. They may include the container to which the snapshot belongs. */
  siblings: readonly string[];
  /** IDs of recreated containers, keyed by their old IDs. */
  successors: ReadonlyMap<string, string>;
}

/**
 * Checks that a snapshot from the disk grants no privileges beyond those in the restored files. Privileges of the
 * service's other containers are accepted. The privileges in the files come from compose's request to create the
 * container.
 * @throws UpdateError containers-not-restored
 */
export async function checkSnapshotPrivileges(
  engine: Engine,
  { name, service, imageId }: ContainerRecord,
  snapshot: ContainerSnapshot,
  { project, ownId, siblings, successors }: PrivilegeSources,
): Promise<void> {
  const then = { ...snapshot, hostConfig: replaceContainerIds(snapshot.hostConfig, successors) };
  const requested = [{ name: service, image: imageId, scale: 1 }];
  const [recorded, [image], [own], there] = await Promise.all([
    recordUpRequests(engine, project, requested).catch((error) => {
      if (error instanceof UpdateError && error.outcome === 'refused') return null;
      throw error;
    }),
    engine.inspectImages([imageId]),
    engine.inspectRaw([ownId]),
    engine.inspectRaw(siblings),
  ]);
  const body = recorded?.requests.get(service)?.body;
  const user = toObject(image?.config).User;
  const known = [
    ...(body === undefined
      ? []
      : [addDefinitionDefaults(containerDefinitionOf(body), then, { user, own: toObject(own?.HostConfig) })]),
    ...there.map(containerDefinitionOf),
  ];
  const gained = known.map((now) => findGainedPrivileges(now, then, createMountRules(now)));
  if (gained.some((rights) => rights.length === 0)) return;
  const [rights] = gained;
  throw new UpdateError(
    'containers-not-restored',
    rights === undefined
      ? `${name} was not recreated: docker compose cannot determine its privileges from the compose files`
      : `${name} was not recreated: the journal would grant it privileges that neither the compose files nor the service's other containers have: ${joinWithAnd(rights.map(nameOf))}`,
  );
}

const nameOf = ({ name }: HostPrivilege): string => name;

/** Adds the defaults of the image and the engine to compose's container definition. */
function addDefinitionDefaults(
  { config, hostConfig }: ContainerDefinition,
  then: ContainerDefinition,
  { user, own }: { user: unknown; own: Json },
): ContainerDefinition {
  const { Privileged, PidMode, IpcMode, CgroupnsMode, SecurityOpt } = hostConfig;
  const isLabel = (option: unknown) => /^label[=:]/.test(String(option));
  const isShared = [PidMode, IpcMode].some((mode) => /^(?:host$|container:)/.test(String(mode)));
  // If the container is privileged or shares a namespace, the engine itself adds SELinux labels, so the snapshot's
  // labels are accepted.
  const labels = Privileged === true || isShared ? toList(then.hostConfig.SecurityOpt).filter(isLabel) : [];
  return {
    config: { ...config, User: config.User || user },
    hostConfig: {
      ...hostConfig,
      CgroupnsMode: CgroupnsMode || own.CgroupnsMode,
      SecurityOpt: [...toList(SecurityOpt), ...labels],
    },
  };
}

/** Creates the rules for mounts: mounting another path or volume counts as a gained privilege. */
const createMountRules = ({ hostConfig }: ContainerDefinition) => {
  const text = JSON.stringify([hostConfig.Binds, hostConfig.Mounts]);
  return {
    isOwn: () => false,
    volumeOptions: (name: string): Json =>
      text.includes(`"${name}:`) || text.includes(`"Source":"${name}"`) ? {} : { device: 'data' },
  };
};
