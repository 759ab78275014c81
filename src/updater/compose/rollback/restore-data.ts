import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { InterruptedError } from '../../../core/cancellation/cancelled.ts';
import { type ErrorCode, requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import { isDiskFullError } from '../../../core/files/file-system.ts';
import { temporaryPathOf } from '../../../core/files/transaction/file-record.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { rejectionCodes, tolerateErrors } from '../../../engine/http/engine-error.ts';
import { isUp, serviceOf } from '../../../engine/objects/container.ts';
import {
  ContainerStartedError,
  type ContainerStartWatch,
  RepeatedStartCounter,
  type StartedContainer,
} from '../../data/copies/container-start-watch.ts';
import {
  requireIntactCopies,
  requireSpaceToRestore,
  restoreDataFromCopies,
} from '../../data/copies/copy-mounts.ts';
import { RestorePointRecord } from '../../data/copies/restore-point-record.ts';
import type { DataContext, RestorePointLocation } from '../../data/data-context.ts';
import { isCompleteRestorePoint, restorePointLocationOf } from '../../data/restore-point.ts';
import { formatSeconds, formatSize, joinWithAnd } from '../../run/log/format-values.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import { maskOutcome, type RunOutcome } from '../../run/log/run-outcome.ts';
import { RetryableError, retryUntilDone } from '../../run/run-steps.ts';
import type { Journal, JournalData } from '../../run/state/journal.ts';
import { removeReserveFiles, reserveFileCount, reserveSizeBytes } from '../../run/state/reserve.ts';
import {
  hasNewVersionStarted,
  isAddedContainer,
  type Rollout,
  serviceContainerRecordsOf,
} from '../../run/state/rollout.ts';
import { rollbackOf } from '../../run/state/run-state.ts';
import { startDataServices } from '../data-services/start-data-services.ts';
import {
  createDataContext,
  listContainersInStopOrder,
  stopContainerGroups,
  stopRestartedContainers,
  updatedAndSavedServicesOf,
  watchDataWriterStarts,
  writeRestorePointState,
} from '../data-services/stop-data-services.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { stopAndRemoveContainers } from '../replace/stop-containers.ts';
import { setRestartPolicy, suspendRestartPolicies } from './restart-policies.ts';

const tries = 3;
/** How often one container may be started while data is being restored. */
const maxStarts = 3;

/** Opens the record of a run's restore point; null if there is no complete restore point. */
export async function findRestorePointRecord({
  data: { point, project },
}: Journal): Promise<RestorePointRecord | null> {
  if (!point || point.state === 'copying' || point.state === 'saving') return null;
  const record = await RestorePointRecord.open(restorePointLocationOf(point.directory, project));
  return record !== null && isCompleteRestorePoint(record.point) ? record : null;
}

/** Computes the hashes of a run's restore point if they are missing. */
export async function completeRestorePointHashes(context: JournaledContext): Promise<void> {
  const record = await findRestorePointRecord(context.journal);
  if (record === null) return;
  const dataContext = await createDataContext(context);
  await retryRestorePointWork(dataContext, () => record.waitForHashes(dataContext));
}

/**
 * Checks whether a restore point can be restored completely. Changes nothing.
 * @throws UpdateError modified-since, restore-point-damaged, restore-point-unreadable, no-space
 */
export async function requireRestorableData(
  dataContext: DataContext,
  record: RestorePointRecord,
): Promise<void> {
  await retryRestorePointWork(dataContext, async () => {
    await requireSpaceToRestore(dataContext, record.point);
    await record.waitForHashes(dataContext);
    const checking = requireIntactCopies(dataContext, record.place, record.point);
    await awaitWithHeartbeat(dataContext.log, "verifying the restore point's hashes", checking);
  });
}

/** Retries failed work, because a restarted engine or a killed helper container may be the cause of the failure. */
const retryRestorePointWork = <T>(dataContext: DataContext, work: () => Promise<T>): Promise<T> =>
  retryUntilDone(dataContext, () =>
    work().catch((cause: unknown) => {
      const error = requireUpdateError(cause, 'engine-unavailable');
      throw new RetryableError('the restore point', error, {
        sentence: `${error.message}; trying again`,
        tries,
      });
    }),
  );

/**
 * Begins a rollback that restores data, and stops everything that could write to the data. If this run is killed, the
 * next run continues the rollback. `back` is the journal of the run to undo. `isChecked` is true if the restore point
 * has just been checked.
 * @throws UpdateError no-space
 */
export async function beginRollbackWithData(
  context: JournaledContext,
  { record, back, isChecked = false }: { record: RestorePointRecord; back: JournalData; isChecked?: boolean },
  outcome: RunOutcome,
): Promise<void> {
  const { journal } = context;
  const { place: location, point } = record;
  const { from, tags, changeover: rollout, blueprints: snapshots } = back;
  // Name temporary files after this run: if it is killed, the next run finds the files by that name.
  const { run, project } = journal.data;
  const files = back.files.map((each) => ({ ...each, temporary: temporaryPathOf(each.real, run) }));
  const { riders = [], ports = [] } = journal.data.point ?? back.point ?? {};
  const failure = await journal.tryWrite({
    ...{ from, files, tags, changeover: rollout, blueprints: snapshots },
    state: { at: 'restoring', ending: maskOutcome(context.log, outcome) },
    point: {
      ...{ directory: location.directory, state: 'saved', riders, ports, policies: [], isChecked },
      ...{ services: point.services, inMemory: point.inMemory },
    },
  });
  await stopWriters(context);
  if (failure === null) return;
  // Delete only the reserve file for the journal. The engine's reserve files are deleted once the rollback is in the
  // journal.
  await removeReserveFiles(project.directory, ['journal']);
  await removeOldReserve(location);
  await journal.write().catch(rethrowJournalWriteError);
}

/**
 * Ends a rollback because the journal cannot be written. All services stay stopped.
 * @throws UpdateError; any other error unchanged
 */
export function rethrowJournalWriteError(cause: unknown): never {
  const error = requireUpdateError(cause, 'write-failed');
  throw isDiskFullError(error.cause)
    ? createDiskFullError(error)
    : createDataNotRestoredError(error.message, error);
}

/**
 * Stops all containers that can write to the data. This must be the first step: the disk may be full, and only stopping
 * needs no disk space.
 */
async function stopWriters(context: JournaledContext): Promise<void> {
  await stopContainerGroups(context, await listContainersInStopOrder(context.engine, context.journal.data));
}

/** Deletes the reserve file that an earlier release of the updater put into each restore point. */
const removeOldReserve = ({ directory }: RestorePointLocation): Promise<void> =>
  rm(join(directory, 'reserve'), { force: true }).catch(() => {});

/** Creates the error for a rollback without enough disk space. All services stay stopped until the next run. */
const createDiskFullError = (cause: UpdateError): UpdateError =>
  new UpdateError('no-space', cause.message, {
    ...{ outcome: 'broken', detail: cause.detail, cause },
    advice: `Free at least ${formatSize(Number(cause.fields.missing ?? 2 * reserveSizeBytes))} and ${2 * reserveFileCount} inodes on this disk, then run {command} again to continue the restore. Do not start the stopped services.`,
  });

/**
 * Restores the data once, and compares it with the restore point. No covered service runs until the data services are
 * started. The call can be repeated in any state.
 * @param starts - counts how often each container is started while data is being restored
 * @throws RetryableError; UpdateError data-not-restored
 */
export async function restoreData(context: JournaledContext, starts: RepeatedStartCounter): Promise<void> {
  const { log, journal } = context;
  const { changeover: rollout, point, project } = journal.data;
  if (!point || rollout === null) return;
  const location = restorePointLocationOf(point.directory, project);
  const found = await RestorePointRecord.open(location).catch((cause) => {
    throw createDataNotRestoredError(cause.message, requireUpdateError(cause));
  });
  if (found === null)
    throw createDataNotRestoredError(
      `there is no restore point in ${point.directory}; mount the directory that the update used, and pass it with --restore-dir`,
    );
  const { mounts, version } = found.point;
  const dataContext = await createDataContext(context);
  await stopWriters(context);
  await removeReserveFiles(project.directory);
  await removeOldReserve(location);
  // Earlier updater releases did not write `isChecked`. They checked the restore point before they recorded the
  // rollback.
  if (point.isChecked === false) await requireUsableRestorePoint(context, { doors: dataContext, found });
  log.info(`restoring the data of ${version}: ${joinWithAnd(mounts.map(({ where }) => where)) || 'no data'}`);
  const watch = await watchDataWriterStarts(dataContext, journal, mounts);
  const beganAt = performance.now();
  let failure: unknown = null;
  try {
    await restoreOnce(context, { doors: dataContext, watch, found }).catch((error: unknown) => {
      if (error instanceof InterruptedError) throw error;
      failure = error;
    });
    const started = await watch.listStartedContainers();
    if (started.length > 0) await stopStartedContainers(context, { started, starts });
    // Repeat an aborted copy even if no container is listed. The container that caused the abort may have exited before
    // the watch began.
    if (failure instanceof ContainerStartedError)
      throw new RetryableError('restore after a start', createDataNotRestoredError(failure.message), {
        tries: Number.POSITIVE_INFINITY,
      });
    if (failure instanceof UpdateError)
      throw new RetryableError('restore', createDataNotRestoredError(failure.message, failure), {
        sentence: `${failure.message}; trying again`,
        tries,
      });
    if (failure !== null) throw failure;
  } finally {
    watch.close();
  }
  await writeRestorePointState(journal, { state: 'restored' });
  log.info(
    `restored the data of ${version} in ${formatSeconds(performance.now() - beganAt, 1)}; the data is identical to the restore point`,
  );
}

/**
 * Stops containers that were started during the restore. Because they may have written data, the restore must be
 * repeated.
 * @throws RetryableError; UpdateError data-not-restored
 */
async function stopStartedContainers(
  context: JournaledContext,
  { started, starts }: { started: readonly StartedContainer[]; starts: RepeatedStartCounter },
): Promise<never> {
  const restless = joinWithAnd(starts.findRepeatedlyStarted(started));
  if (restless !== '') {
    await stopCoveredServices(context);
    throw createDataNotRestoredError(`${restless} was started repeatedly while the data was being restored`);
  }
  const names = joinWithAnd(started.map(({ name }) => name));
  const sentence = `${names} was started while the data was being restored; stopping it and restoring again`;
  await stopRestartedContainers(context, started);
  starts.recordStops(started);
  throw new RetryableError('restore after a start', createDataNotRestoredError(sentence), {
    sentence,
    tries: Number.POSITIVE_INFINITY,
  });
}

const createDataNotRestoredError = (message: string, cause?: UpdateError): UpdateError =>
  cause?.code === 'no-space'
    ? createDiskFullError(cause)
    : new UpdateError('data-not-restored', message, { ...(cause && { detail: cause.detail, cause }) });

/** Codes of errors after which later runs cannot restore the data either. */
const unusableCodes: readonly ErrorCode[] = [
  'restore-point-damaged',
  'restore-point-unreadable',
  'modified-since',
];

/**
 * Checks the restore point before any data is changed. If it cannot be used, starts everything that was stopped.
 * @throws UpdateError
 */
async function requireUsableRestorePoint(
  context: JournaledContext,
  { doors: dataContext, found }: { doors: DataContext; found: RestorePointRecord },
): Promise<void> {
  const { journal } = context;
  const { state } = journal.data;
  try {
    await requireRestorableData(dataContext, found);
  } catch (cause) {
    const error = requireUpdateError(cause);
    if (!unusableCodes.includes(error.code)) throw createDataNotRestoredError(error.message, error);
    await journal.write({ state: { at: 'replacing' } });
    await startStoppedContainers(context);
    if (rollbackOf(state)?.ending?.outcome === 'updated') throw error;
    throw createRollbackImpossibleError(error);
  }
  await writeRestorePointState(journal, { isChecked: true });
}

/** Creates the error for an impossible rollback. The new version stays in place. */
export const createRollbackImpossibleError = (cause: Error): UpdateError =>
  new UpdateError('broken', `cannot roll back: ${cause.message}`, {
    state: `the new version is unhealthy; it was not rolled back, because ${cause.message}`,
    cause,
  });

async function startStoppedContainers(context: JournaledContext): Promise<void> {
  const { engine, log, journal } = context;
  const { changeover: rollout, project } = journal.data;
  const warn = (error: unknown) =>
    log.warn(`some containers could not be started again: ${requireUpdateError(error).message}`);
  await startDataServices(context).catch(warn);
  const { containers } = await listProjectContainers(engine, project.name);
  const ids = containers.filter((each) => shouldRunService(rollout, serviceOf(each))).map(({ id }) => id);
  for (const id of ids)
    await awaitWithHeartbeat(log, 'waiting for a container to start', engine.startContainer(id)).catch(warn);
}

/** Checks whether a service was running before the update, or was added by the release. */
const shouldRunService = (rollout: Rollout | null, service: string): boolean =>
  serviceContainerRecordsOf(rollout, service).some(({ runs }) => runs) ||
  rollout?.moved.some(({ name, added }) => name === service && added !== undefined) === true;

/** Creates a counter that limits how often a container may be started while one rollback restores data. */
export const createRestoreStartCounter = (): RepeatedStartCounter => new RepeatedStartCounter(maxStarts);

async function restoreOnce(
  context: JournaledContext,
  {
    doors: dataContext,
    watch,
    found,
  }: { doors: DataContext; watch: ContainerStartWatch; found: RestorePointRecord },
): Promise<void> {
  await stopCoveredServices(context);
  const end = new AbortController();
  await watch.begin(end);
  await awaitWithHeartbeat(
    context.log,
    'restoring the data',
    restoreDataFromCopies(dataContext, found.place, found.point.mounts, end.signal),
  );
}

/**
 * Stops the covered services' containers, and removes the updated services' new containers. A restarted engine does not
 * start stopped containers, but a user still can.
 */
export async function stopCoveredServices(context: JournaledContext): Promise<void> {
  const { engine, journal } = context;
  const { changeover: rollout, project, point } = journal.data;
  if (rollout === null || !point) return;
  const covered = updatedAndSavedServicesOf(journal.data);
  const { containers, leftovers } = await listProjectContainers(engine, project.name);
  const own = [...containers, ...leftovers].filter((each) => covered.includes(serviceOf(each)));
  await stopWriters(context);
  await suspendRestartPolicies(context, point, own);
  const fresh = own.filter((each) => isAddedContainer(rollout, each));
  if (fresh.length > 0) await stopAndRemoveContainers(context, fresh);
}

/**
 * Restores the changed restart policies, and starts the data services. After a data restore, also restarts services
 * that keep a queue only in memory, because the failed version's jobs must not be processed.
 * @throws UpdateError containers-not-restored
 */
export async function restartDataServices(context: JournaledContext): Promise<void> {
  const { engine, log, journal } = context;
  const { point, state, project, changeover: rollout } = journal.data;
  if (!point) return;
  for (const each of point.policies) await setRestartPolicy(context, each);
  // A stop that a killed run requested may still be in progress, and may later stop a running service. Therefore,
  // complete the stop first.
  if (state.at !== 'restoring' && point.state === 'saving') {
    const { containers } = await listProjectContainers(engine, project.name);
    const groups = await listContainersInStopOrder(engine, journal.data);
    if (rollout !== null && !hasNewVersionStarted(rollout, containers))
      await stopContainerGroups(context, groups);
  }
  await startDataServices(context);
  if (state.at !== 'restoring') return;
  const { containers } = await listProjectContainers(engine, project.name);
  const inMemory = containers.filter((each) => point.inMemory.includes(serviceOf(each)) && isUp(each));
  for (const { id, name } of inMemory) {
    const restarted = await engine
      .request('restartContainer', { params: { id } })
      .catch(tolerateErrors(...rejectionCodes));
    if (restarted === null)
      log.warn(`${name} could not be restarted, so it still has data of the failed version`);
    else log.info(`restarted ${name}, which keeps its data only in memory`);
  }
}
