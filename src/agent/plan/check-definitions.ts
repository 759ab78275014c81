import { listNetworks, listVolumes } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { composeCommand } from '../../progress/compose-command.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { type Installation, movedServices } from '../inspect/installation.ts';
import type { Log } from '../log/log.ts';
import { and } from '../log/wording.ts';
import { findEdited, type UsedDefinition, usedDefinitions } from './edited-definitions.ts';

/**
 * Holds the definitions of networks and volumes against those that the engine's were made from (docs/contract.md 4.7).
 * Compose would take the containers off an edited network, and then fail to remove it for the others that are on it.
 * Refusal: network-edited. No option accepts it.
 */
export async function checkDefinitions(
  { engine, log }: { engine: Engine; log: Log },
  installation: Installation,
): Promise<void> {
  const { model, followers, project } = installation;
  const services = [...movedServices(installation), ...followers].map(({ name }) => name);
  const used = usedDefinitions(model, services);
  const names = (list: readonly UsedDefinition[]) => list.map(({ name }) => name);
  const [networks, volumes] = await Promise.all([
    listNetworks(engine, names(used.networks)),
    listVolumes(engine, names(used.volumes)),
  ]);
  for (const { name } of findEdited(used.volumes, volumes)) {
    log.warn(`volume ${name} was made from another definition than the files have now: it stays as it is`);
  }
  const edited = findEdited(used.networks, networks);
  if (edited.length === 0) return;
  const users = [...new Set(edited.flatMap((network) => network.services))];
  const compose = composeCommand(project);
  throw new UpdateError(
    'network-edited',
    `${and(edited.map(({ name }) => `network ${name}`))} ${edited.length > 1 ? 'were' : 'was'} edited in the files since the instance was started: replacing ${and(users)} would take the instance off it`,
    {
      advice: `Apply the edit with ${compose} up -d; where that sees nothing to do, with ${compose} down and ${compose} up -d. Then run the update again.`,
    },
  );
}
