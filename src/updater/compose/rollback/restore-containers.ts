import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ContainerSnapshot } from '../../../engine/containers/container-snapshot.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { recreateContainer } from '../../../engine/containers/recreate-container.ts';
import { findEngineError, rejectionCodes, tolerateErrors } from '../../../engine/http/engine-error.ts';
import { serviceOf } from '../../../engine/objects/container.ts';
import type { ContainerRecord } from '../../run/state/rollout.ts';
import { checkSnapshotPrivileges } from '../data-services/check-snapshot-privileges.ts';
import { recreateMissingNetworks } from '../data-services/start-data-services.ts';
import { awaitHealthyContainers } from '../health/await-healthy.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { stopAndRemoveContainers, stopContainers } from '../replace/stop-containers.ts';
import { findContainerDifferences } from './find-container-differences.ts';
import type { RestoreStep } from './list-restore-steps.ts';

export interface ContainerRestoreContext extends JournaledContext {
  /** Ids of recreated containers, keyed by the ids of the old containers. */
  successors: Map<string, string>;
  /** Ids of containers whose privileges were checked, so that they may be recreated from the journal. */
  checkedContainerIds: Set<string>;
  /** Called with the old id of each recreated container. */
  onRebuilt(id: string): void;
}

type RestoreExecutors = {
  [K in RestoreStep['kind']]: (
    step: Extract<RestoreStep, { kind: K }>,
    work: ContainerRestoreContext,
  ) => Promise<unknown>;
};

export const restoreStepExecutors: RestoreExecutors = {
  'remove-new': ({ containers }, work) => stopAndRemoveContainers(work, containers),
  'remove-orphan': async ({ record }, work) => {
    await checkPrivilegesOnce(record, work);
    await stopAndRemoveContainers(work, [currentContainerOf(record, work)]);
  },
  rebuild: ({ record }, work) => recreateFromJournal(record, work),
  'give-up': ({ record }) => Promise.reject(createMissingSnapshotError(record)),
  connect: async ({ record, networks }, work) => {
    const { networks: endpoints } = requireSnapshot(record, work);
    for (const network of networks) {
      const endpoint = endpoints[network] ?? {};
      const connecting = work.engine.connectNetwork(network, currentIdOf(record, work), endpoint);
      if ((await connecting.catch(tolerateErrors(...rejectionCodes))) === null)
        return removeAndRecreate(record, work);
      work.log.info(`reconnected ${record.name} to network ${network}`);
    }
  },
  start: async ({ record }, work) => {
    const start = () => work.engine.startContainer(currentIdOf(record, work));
    await start().catch(async (error: unknown) => {
      // A recreated network has a new id. A container that still uses the old id must be recreated.
      const isLost = /network \S+ not found/.test(findEngineError(error)?.message ?? '');
      if (!isLost || work.successors.has(record.id)) throw error;
      await removeAndRecreate(record, work);
      await start();
    });
  },
  'stop-old': ({ record }, work) => stopContainers(work, [currentContainerOf(record, work)]),
  'await-old': ({ records }, work) => {
    const [app] = work.journal.data.services;
    const containers = records.map((record) => currentContainerOf(record, work));
    return awaitHealthyContainers(work, containers, app);
  },
  compare: async ({ records }, work) => {
    const ids = records.map((record) => currentIdOf(record, work));
    const found = await work.engine.inspectContainers(ids);
    const losses = records.flatMap((record, index) => {
      const snapshot = work.journal.data.blueprints.find(({ id }) => id === record.id);
      const now = found.find(({ id }) => id === ids[index]);
      return findContainerDifferences(record, snapshot, now);
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
const currentIdOf = ({ id }: ContainerRecord, { successors }: ContainerRestoreContext): string =>
  successors.get(id) ?? id;

const currentContainerOf = (record: ContainerRecord, work: ContainerRestoreContext) => ({
  ...record,
  id: currentIdOf(record, work),
});

function requireSnapshot(record: ContainerRecord, { journal }: ContainerRestoreContext): ContainerSnapshot {
  const snapshot = journal.data.blueprints.find(({ id }) => id === record.id);
  if (!snapshot) throw createMissingSnapshotError(record);
  return snapshot;
}

async function recreateFromJournal(record: ContainerRecord, work: ContainerRestoreContext): Promise<void> {
  const { engine, successors, log } = work;
  await checkPrivilegesOnce(record, work);
  await recreateMissingNetworks(work, record.service, requireSnapshot(record, work));
  successors.set(record.id, await recreateContainer(engine, requireSnapshot(record, work), successors));
  work.onRebuilt(record.id);
  log.info(`recreated ${record.name} from the old image`);
}

/** Checks a container's privileges before its removal, because the engine cannot report them afterwards. */
async function checkPrivilegesOnce(record: ContainerRecord, work: ContainerRestoreContext): Promise<void> {
  const { engine, journal, successors, checkedContainerIds: agreed } = work;
  if (!journal.isInherited || agreed.has(record.id)) return;
  const { project, containerId: ownId } = journal.data;
  const { containers } = await listProjectContainers(engine, project.name);
  const siblings = containers.filter((each) => serviceOf(each) === record.service).map(({ id }) => id);
  await checkSnapshotPrivileges(engine, record, requireSnapshot(record, work), {
    project,
    ownId,
    siblings,
    successors,
  });
  agreed.add(record.id);
}

/** Recreates an existing container that cannot be reconnected or started. */
async function removeAndRecreate(record: ContainerRecord, work: ContainerRestoreContext): Promise<void> {
  await checkPrivilegesOnce(record, work);
  await stopAndRemoveContainers(work, [currentContainerOf(record, work)]);
  await recreateFromJournal(record, work);
}

const createMissingSnapshotError = ({ name }: ContainerRecord): UpdateError =>
  new UpdateError(
    'containers-not-restored',
    `${name} cannot be recreated, because its configuration is not in the journal`,
  );
