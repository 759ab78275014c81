import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { Log } from '../../run/log/run-log.ts';
import { type Installation, replacedServicesOf } from '../inspect/installation.ts';

/**
 * Warns about edited volumes, and rejects edited networks (docs/contract.md 4.7). Compose would disconnect the
 * containers from an edited network, even if only a dependency uses it. It would then fail to remove the network if
 * other containers use it.
 * @throws UpdateError network-edited, even if drift is accepted
 */
export function checkNetworkAndVolumeDrift(installation: Installation, log: Pick<Log, 'warn'>): void {
  const { removedNetworks, editedVolumes, containers, model } = installation;
  const services = replacedServicesOf(installation);
  const used = services.flatMap(({ name }) => model.services[name]?.volumes ?? []);
  const isUsed = (volume: string) =>
    used.some(({ type, source = '' }) => type === 'volume' && model.volumes?.[source]?.name === volume);
  for (const name of [...editedVolumes].filter(isUsed).sort()) {
    log.warn(
      `the definition of volume ${name} in the files has changed since the volume was created; the update will not change the volume`,
    );
  }
  const hasOn = (network: string, some: readonly Container[]) =>
    some.some(({ networks }) => networks.includes(network));
  const usersOf = (network: string) =>
    services.filter(({ name, containers: own }) => {
      const keys = Object.keys(model.services[name]?.networks ?? {});
      return hasOn(network, own) || keys.some((key) => model.networks?.[key]?.name === network);
    });
  // If compose reports a network by ID, its containers are unknown, so the update is refused.
  const isId = (network: string) => /^[0-9a-f]{64}$/.test(network);
  const edited = [...removedNetworks]
    .filter((network) => isId(network) || hasOn(network, containers) || usersOf(network).length > 0)
    .sort();
  if (edited.length === 0) return;
  const users = edited.flatMap(usersOf);
  const names = (users.length > 0 ? users : services).map(({ name }) => name);
  const networks = joinWithAnd(edited.map((name) => `network ${name}`));
  throw new UpdateError(
    'network-edited',
    `${networks} ${edited.length > 1 ? 'were' : 'was'} edited in the files after the app was started: replacing ${joinWithAnd([...new Set(names)])} would disconnect containers from ${edited.length > 1 ? 'them' : 'it'}`,
  );
}
