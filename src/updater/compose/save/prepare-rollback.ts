import type { ComposeModel } from '../../../engine/cli/compose.ts';
import {
  type ContainerSnapshot,
  takeContainerSnapshots,
} from '../../../engine/containers/container-snapshot.ts';
import { listCopiedPaths } from '../../../engine/containers/copied-files.ts';
import { requireCopyableFiles } from '../../../engine/containers/helper-container.ts';
import type { EngineContext } from '../../run/run-context.ts';
import type { Rollout } from '../../run/state/rollout.ts';
import type { JournaledContext } from '../replace/replacement.ts';

/**
 * Before containers are replaced, writes everything that a rollback needs to the journal. If data was saved, the
 * journal already has the container snapshots.
 */
export async function prepareRollback(
  context: JournaledContext,
  rollout: Rollout,
  installation: { model: ComposeModel; project: { name: string } },
): Promise<void> {
  const { journal } = context;
  const names = rollout.moved.map(({ name }) => name);
  const snapshots =
    journal.data.blueprints.length > 0
      ? journal.data.blueprints
      : await fetchServiceSnapshots(context, rollout, names, installation);
  await journal.write({ state: { at: 'replacing' }, changeover: rollout, blueprints: snapshots });
}

/**
 * Takes snapshots for recreating these services' containers. Snapshots of stopped containers may lack MAC addresses.
 */
export async function fetchServiceSnapshots(
  { engine, log }: EngineContext,
  rollout: Rollout,
  names: readonly string[],
  { model, project }: { model: ComposeModel; project: { name: string } },
): Promise<ContainerSnapshot[]> {
  const records = rollout.containers.filter(({ service }) => names.includes(service));
  const snapshots = await takeContainerSnapshots(
    engine,
    records.map(({ id }) => id),
    new Map(records.map((record) => [record.id, listCopiedPaths(model.services[record.service])])),
  );
  for (const { name, lost } of snapshots.filter((each) => each.lost.length > 0)) {
    log.warn(
      `files that docker compose copied into ${name} cannot be saved for a rollback: ${lost.join(', ')}`,
    );
  }
  for (const snapshot of snapshots) await requireCopyableFiles(engine, snapshot, project.name);
  return snapshots;
}
