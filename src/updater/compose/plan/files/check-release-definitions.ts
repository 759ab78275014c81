import { formatUpCommand } from '../../../../core/command-line/compose-command.ts';
import { parseImageReference } from '../../../../core/compose/pins/image-reference.ts';
import { UpdateError } from '../../../../core/errors/update-error.ts';
import type { ComposeModel, ComposeService } from '../../../../engine/cli/compose.ts';
import { type Container, isUp, serviceOf } from '../../../../engine/objects/container.ts';
import type { ServiceUpdate } from '../../../plan/release-plan.ts';
import { joinWithAnd } from '../../../run/log/format-values.ts';
import {
  type Installation,
  replacedServicesOf,
  unreplacedContainersOf,
  updatedServicesOf,
} from '../../inspect/installation.ts';
import { findImageMajorVersionWarnings } from '../../inspect/services/image-major-versions.ts';
import type { ExpectedModelChanges } from '../../verify-edit/compare-models.ts';

/** Services, networks and volumes as the release's files define them. */
export interface ReleaseDefinitions {
  model: ComposeModel;
  /** Names of networks that compose removes and recreates if their definition changes. */
  hashedNetworks: ReadonlySet<string>;
}

/**
 * Checks the changes in a generated compose file. Warns about changed networks and volumes, which are not recreated.
 * Also warns about services that the release no longer has: their containers remain.
 * @throws UpdateError shared-definition, proof-failed
 */
export function checkReleaseDefinitions(
  installation: Installation,
  definitions: ReleaseDefinitions,
  expected: ExpectedModelChanges,
  updates: readonly ServiceUpdate[],
): string[] {
  const { model } = definitions;
  for (const { service, tag } of updates) {
    const image = model.services[service]?.image ?? 'nothing';
    if (image !== expected.images.get(service) || (parseImageReference(image)?.tag ?? 'latest') !== tag) {
      const message = `with the release's compose files, ${service} would run ${image}, not ${tag}`;
      throw new UpdateError('proof-failed', message);
    }
  }
  const changes = findSharedChanges(installation, definitions);
  const fatal = changes.filter(({ isFatal }) => isFatal).map(({ what }) => what);
  if (fatal.length > 0) {
    const message = `the release changes the definition of ${fatal.join(', ')}, which is in use`;
    throw new UpdateError('shared-definition', message);
  }
  const staying = unreplacedServicesOf(installation);
  requireSharedNetworks(installation, model, staying);
  const gone = staying.filter((name) => name in installation.model.services && !(name in model.services));
  const leaves = `the release's compose file no longer contains ${joinWithAnd(gone)}; the containers of ${gone.length > 1 ? 'these services' : 'this service'} will not be changed`;
  return [...changes.map(({ warning }) => warning), ...(gone.length > 0 ? [leaves] : [])];
}

/** Returns the services that have containers and are not replaced by the update. */
export const unreplacedServicesOf = (installation: Installation): string[] =>
  [...new Set(unreplacedContainersOf(installation).map(serviceOf))].sort();

/** Finds networks and volumes that the release changes. A fatal change would stop the instance or lose data. */
function findSharedChanges(installation: Installation, { model, hashedNetworks }: ReleaseDefinitions) {
  // Recommend `up` only if this is safe, and only for networks with a hash in their label. Compose recreates other
  // networks only after `down`, which also detaches anonymous volumes.
  const isSafe = findImageMajorVersionWarnings(unreplacedContainersOf(installation), model).size === 0;
  const hint = (name: string) =>
    isSafe && hashedNetworks.has(name)
      ? `. To recreate it, run ${formatUpCommand(installation.project)}`
      : '';
  const before = installation.model;
  const changed = (kind: 'networks' | 'volumes') =>
    Object.entries(before[kind] ?? {}).flatMap(([key, old]) => {
      const now = model[kind]?.[key];
      // Compose does not change external networks and volumes.
      if (now === undefined || now?.external || JSON.stringify(old) === JSON.stringify(now)) return [];
      return [{ key, name: old?.name ?? key, isRenamed: old?.name !== now?.name }];
    });
  const users = replacedServicesOf(installation).map(({ name }) => name);
  const networks = new Set(
    users.flatMap((name) => [...networkKeys(before.services[name]), ...networkKeys(model.services[name])]),
  );
  const volumes = new Set(
    users.flatMap((name) => (before.services[name]?.volumes ?? []).map(({ source }) => source ?? '')),
  );
  return [
    ...changed('networks').map(({ key, name, isRenamed }) => ({
      what: `network ${key}`,
      // A renamed network is a new network, to which the other services are not connected.
      isFatal: networks.has(key) && (isRenamed || hashedNetworks.has(name)),
      warning: `the release changes the definition of network ${key}, but the update will not recreate the network${hint(name)}`,
    })),
    ...changed('volumes').map(({ key, isRenamed }) => ({
      what: `volume ${key}`,
      // A renamed volume is a new, empty volume.
      isFatal: volumes.has(key) && isRenamed,
      warning: `the release changes the definition of volume ${key}, but the update will not recreate the volume. If docker compose asks whether to recreate it, answer N: recreating it deletes its data`,
    })),
  ];
}

const networkKeys = (service: ComposeService | undefined): string[] =>
  service === undefined || service.network_mode ? [] : Object.keys(service.networks ?? { default: null });

/**
 * Rejects a release that would disconnect an updated service from another running service.
 * @throws UpdateError shared-definition
 */
function requireSharedNetworks(
  installation: Installation,
  model: ComposeModel,
  staying: readonly string[],
): void {
  const networksOf = (containers: readonly Container[]) => containers.flatMap(({ networks }) => networks);
  const up = Map.groupBy(installation.containers.filter(isUp), serviceOf);
  for (const { name, containers } of updatedServicesOf(installation).filter(
    (each) => each.name in model.services,
  )) {
    const today = networksOf(containers);
    const then = networkKeys(model.services[name]).map((key) => model.networks?.[key]?.name ?? key);
    const lost = staying.filter((other) => {
      const networks = networksOf(up.get(other) ?? []);
      const shares = (own: readonly string[]) => networks.some((network) => own.includes(network));
      return shares(today) && !shares(then);
    });
    if (lost.length === 0) continue;
    const message = `the release removes ${name} from the network that it shares with ${joinWithAnd(lost)}`;
    throw new UpdateError('shared-definition', message);
  }
}
