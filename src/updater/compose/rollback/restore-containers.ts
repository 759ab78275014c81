import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ContainerSnapshot } from '../../../engine/containers/container-snapshot.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { rebuildContainer } from '../../../engine/containers/rebuild-container.ts';
import { findEngineError, rejectionCodes, tolerateErrors } from '../../../engine/http/engine-error.ts';
import { serviceOf } from '../../../engine/objects/container.ts';
import type { ContainerRecord } from '../../run/state/rollout.ts';
import { checkRights } from '../data-services/check-rights.ts';
import { ensureNetworks } from '../data-services/start-data-services.ts';
import { awaitHealthyContainers } from '../health/await-healthy.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { stopAllContainers, stopAndRemove } from '../replace/stop-containers.ts';
import { findLosses } from './find-losses.ts';
import type { RestoreStep } from './list-restore-steps.ts';

export interface RestoreContext extends JournaledContext {
  /** Ids of recreated containers, keyed by the ids of the old containers. */
  successors: Map<string, string>;
  /** Ids of containers whose privileges were checked, so that they may be recreated from the journal. */
  agreed: Set<string>;
  /** Called with the old id of each recreated container. */
  onRebuilt(id: string): void;
}

type Executors = {
  [K in RestoreStep['kind']]: (
    step: Extract<RestoreStep, { kind: K }>,
    work: RestoreContext,
  ) => Promise<unknown>;
};

export const restoreExecutors: Executors = {
  'remove-new': ({ containers }, work) => stopAndRemove(work, containers),
  'remove-orphan': async ({ record }, work) => {
    await agree(record, work);
    await stopAndRemove(work, [standIn(record, work)]);
  },
  rebuild: ({ record }, work) => rebuild(record, work),
  'give-up': ({ record }) => Promise.reject(unknown(record)),
  connect: async ({ record, networks }, work) => {
    const { networks: endpoints } = blueprintOf(record, work);
    for (const network of networks) {
      const endpoint = endpoints[network] ?? {};
      const connecting = work.engine.connectNetwork(network, idNow(record, work), endpoint);
      if ((await connecting.catch(tolerateErrors(...rejectionCodes))) === null) return remake(record, work);
      work.log.info(`reconnected ${record.name} to network ${network}`);
    }
  },
  start: async ({ record }, work) => {
    const start = () => work.engine.startContainer(idNow(record, work));
    await start().catch(async (error: unknown) => {
      // A network that was removed and recreated has a new id. A container that still uses the old id must be
      // recreated.
      const isLost = /network \S+ not found/.test(findEngineError(error)?.message ?? '');
      if (!isLost || work.successors.has(record.id)) throw error;
      await remake(record, work);
      await start();
    });
  },
  'stop-old': ({ record }, work) => stopAllContainers(work, [standIn(record, work)]),
  'await-old': ({ records }, work) => {
    const [app] = work.journal.data.services;
    const containers = records.map((record) => standIn(record, work));
    return awaitHealthyContainers(work, containers, app);
  },
  compare: async ({ records }, work) => {
    const ids = records.map((record) => idNow(record, work));
    const found = await work.engine.inspectContainers(ids);
    const losses = records.flatMap((record, index) => {
      const blueprint = work.journal.data.blueprints.find(({ id }) => id === record.id);
      const now = found.find(({ id }) => id === ids[index]);
      return findLosses(record, blueprint, now);
    });
    if (losses.length > 0) {
      throw new UpdateError(
        'containers-not-restored',
        `containers differ from their state before the update: ${losses.join(', ')}`,
      );
    }
  },
};

/** Returns the id of the old container, or of its recreated successor. */
const idNow = ({ id }: ContainerRecord, { successors }: RestoreContext): string => successors.get(id) ?? id;

const standIn = (record: ContainerRecord, work: RestoreContext) => ({ ...record, id: idNow(record, work) });

function blueprintOf(record: ContainerRecord, { journal }: RestoreContext): ContainerSnapshot {
  const blueprint = journal.data.blueprints.find(({ id }) => id === record.id);
  if (!blueprint) throw unknown(record);
  return blueprint;
}

async function rebuild(record: ContainerRecord, work: RestoreContext): Promise<void> {
  const { engine, successors, log } = work;
  await agree(record, work);
  await ensureNetworks(work, record.service, blueprintOf(record, work));
  successors.set(record.id, await rebuildContainer(engine, blueprintOf(record, work), successors));
  work.onRebuilt(record.id);
  log.info(`recreated ${record.name} from the old image`);
}

/**
 * Checks the privileges of a container before it is removed and recreated, because the engine cannot report those of a
 * removed container.
 */
async function agree(record: ContainerRecord, work: RestoreContext): Promise<void> {
  const { engine, journal, successors, agreed } = work;
  if (!journal.isInherited || agreed.has(record.id)) return;
  const { project, containerId: ownId } = journal.data;
  const { containers } = await listProjectContainers(engine, project.name);
  const siblings = containers.filter((each) => serviceOf(each) === record.service).map(({ id }) => id);
  await checkRights(engine, record, blueprintOf(record, work), { project, ownId, siblings, successors });
  agreed.add(record.id);
}

/** Recreates an existing container that cannot be reconnected or started. */
async function remake(record: ContainerRecord, work: RestoreContext): Promise<void> {
  await agree(record, work);
  await stopAndRemove(work, [standIn(record, work)]);
  await rebuild(record, work);
}

const unknown = ({ name }: ContainerRecord): UpdateError =>
  new UpdateError(
    'containers-not-restored',
    `${name} cannot be recreated, because its configuration is not in the journal`,
  );
