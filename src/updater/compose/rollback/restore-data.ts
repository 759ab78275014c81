import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Interrupted } from '../../../core/cancellation/cancelled.ts';
import { type ErrorCode, requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import { isFullDisk } from '../../../core/files/file-system.ts';
import { temporaryOf } from '../../../core/files/transaction/file-record.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { rejectionCodes, tolerateErrors } from '../../../engine/http/engine-error.ts';
import { isUp, serviceOf } from '../../../engine/objects/container.ts';
import { checkCopies, requireRestoreSpace, restoreCopies } from '../../data/copies/copy-mounts.ts';
import { RestorePointRecord } from '../../data/copies/restore-point-record.ts';
import {
  RepeatedStarts,
  SomethingStarted,
  type StartedContainer,
  type StartWatch,
} from '../../data/copies/watch-starts.ts';
import type { DataContext, RestorePointLocation } from '../../data/data-context.ts';
import { isComplete, restorePointLocation } from '../../data/restore-point.ts';
import { formatSeconds, formatSize, joinWithAnd } from '../../run/log/format-values.ts';
import { withHeartbeat } from '../../run/log/heartbeat.ts';
import { maskOutcome, type RunOutcome } from '../../run/log/run-outcome.ts';
import { retryUntilDone, TryAgain } from '../../run/run-steps.ts';
import type { Journal, JournalData } from '../../run/state/journal.ts';
import { removeReserveFiles, reserveBytes, reserveFileCount } from '../../run/state/reserve.ts';
import {
  type Changeover,
  hasNewVersionStarted,
  isPreviousContainer,
  recordsOf,
} from '../../run/state/rollout.ts';
import { rollbackOf } from '../../run/state/run-state.ts';
import { startDataServices } from '../data-services/start-data-services.ts';
import {
  coveredServicesOf,
  createDataContext,
  createDataWatch,
  listCoveredContainers,
  stopInOrder,
  stopRestartedContainers,
  writeRestorePointState,
} from '../data-services/stop-data-services.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { stopAndRemove } from '../replace/stop-containers.ts';
import { deferRestarts, setPolicy } from './restart-policies.ts';

const tries = 3;
/** How often one container may be started while data is being restored. */
const rounds = 3;

/** Opens the record of a run's restore point; null if there is no restore point, or if it is incomplete. */
export async function openRestorePoint({
  data: { point, project },
}: Journal): Promise<RestorePointRecord | null> {
  if (!point || point.state === 'copying' || point.state === 'saving') return null;
  const record = await RestorePointRecord.open(restorePointLocation(point.directory, project));
  return record !== null && isComplete(record.point) ? record : null;
}

/** Computes the hashes of a run's restore point if they are missing. */
export async function completeRestorePoint(context: JournaledContext): Promise<void> {
  const record = await openRestorePoint(context.journal);
  if (record === null) return;
  const doors = await createDataContext(context);
  await persistently(doors, () => record.hashed(doors));
}

/**
 * Checks whether a restore point can be restored completely. Changes nothing.
 * @throws UpdateError modified-since, restore-point-damaged, restore-point-unreadable, no-space
 */
export async function checkRestorePoint(doors: DataContext, record: RestorePointRecord): Promise<void> {
  await persistently(doors, async () => {
    await requireRestoreSpace(doors, record.point);
    await record.hashed(doors);
    const checking = checkCopies(doors, record.place, record.point);
    await withHeartbeat(doors.log, "verifying the restore point's hashes", checking);
  });
}

/**
 * Retries failed work, because a restarted engine or a killed helper container does not mean that the restore point is
 * unusable.
 */
const persistently = <T>(doors: DataContext, work: () => Promise<T>): Promise<T> =>
  retryUntilDone(doors, () =>
    work().catch((cause: unknown) => {
      const error = requireUpdateError(cause, 'engine-unavailable');
      throw new TryAgain('the restore point', error, { sentence: `${error.message}; trying again`, tries });
    }),
  );

/**
 * Begins a rollback that restores data, and stops everything that could write to the data. After a kill, the next run
 * continues the rollback.
 * @param target restore point. `back` is the journal of the run that is undone; `isChecked` is true if the restore
 * point has just been checked.
 * @throws UpdateError no-space
 */
export async function beginRollback(
  context: JournaledContext,
  { record, back, isChecked = false }: { record: RestorePointRecord; back: JournalData; isChecked?: boolean },
  ending: RunOutcome,
): Promise<void> {
  const { journal } = context;
  const { place, point } = record;
  const { from, tags, changeover, blueprints } = back;
  // Temporary files get the name of this run, because a run that continues after a kill searches for them by that name.
  const { run, project } = journal.data;
  const files = back.files.map((each) => ({ ...each, temporary: temporaryOf(each.real, run) }));
  const { riders = [], ports = [] } = journal.data.point ?? back.point ?? {};
  const failure = await journal.note({
    ...{ from, files, tags, changeover, blueprints },
    state: { at: 'restoring', ending: maskOutcome(context.log, ending) },
    point: {
      ...{ directory: place.directory, state: 'saved', riders, ports, policies: [], isChecked },
      ...{ services: point.services, inMemory: point.inMemory },
    },
  });
  await stopWriters(context);
  // If the journal could not be written, only the journal's part of the reserve is deleted. The larger part is for the
  // engine, and is deleted once the rollback is in the journal.
  if (failure === null) return;
  await removeReserveFiles(project.directory, ['journal']);
  await freeOldReserve(place);
  await journal.write().catch(throwJournalNotWritten);
}

/**
 * Ends a rollback because the journal cannot be written. All services stay stopped.
 * @throws UpdateError; any other error unchanged
 */
export function throwJournalNotWritten(cause: unknown): never {
  const error = requireUpdateError(cause, 'write-failed');
  throw isFullDisk(error.cause) ? notEnoughSpace(error) : dataNotRestored(error.message, error);
}

/**
 * Stops all containers that can write to the data. This is the first step: the new version may have filled the disk,
 * and only this step needs no disk space.
 */
async function stopWriters(context: JournaledContext): Promise<void> {
  await stopInOrder(context, await listCoveredContainers(context.engine, context.journal.data));
}

/** Deletes the reserve file that an earlier release of the updater put into each restore point. */
const freeOldReserve = ({ directory }: RestorePointLocation): Promise<void> =>
  rm(join(directory, 'reserve'), { force: true }).catch(() => {});

/**
 * Creates the error for a rollback that lacks disk space. The rollback is incomplete, and all services stay stopped
 * until the next run.
 */
const notEnoughSpace = (cause: UpdateError): UpdateError =>
  new UpdateError('no-space', cause.message, {
    ...{ outcome: 'broken', detail: cause.detail, cause },
    advice: `Free at least ${formatSize(Number(cause.fields.missing ?? 2 * reserveBytes))} and ${2 * reserveFileCount} inodes on this disk, then run {command} again to continue the restore. Do not start the stopped services.`,
  });

/**
 * Restores the data once, and compares it with the restore point. No covered service runs between the first stop and
 * the start of the data services. Can be repeated in any state.
 * @param starts counts how often each container is started while data is being restored
 * @throws TryAgain; UpdateError data-not-restored
 */
export async function restoreData(context: JournaledContext, starts: RepeatedStarts): Promise<void> {
  const { log, journal } = context;
  const { changeover, point, project } = journal.data;
  if (!point || changeover === null) return;
  const place = restorePointLocation(point.directory, project);
  const found = await RestorePointRecord.open(place).catch((cause) => {
    throw dataNotRestored(cause.message, requireUpdateError(cause));
  });
  if (found === null)
    throw dataNotRestored(
      `there is no restore point in ${point.directory}; mount the directory that the update used, and pass it with --restore-dir`,
    );
  const { mounts, version } = found.point;
  const doors = await createDataContext(context);
  await stopWriters(context);
  await removeReserveFiles(project.directory);
  await freeOldReserve(place);
  // Journals of earlier updater releases have no `isChecked`. Those releases checked the restore point before they
  // wrote the rollback to the journal.
  if (point.isChecked === false) await requireUsable(context, { doors, found });
  log.info(`restoring the data of ${version}: ${joinWithAnd(mounts.map(({ where }) => where)) || 'no data'}`);
  const watch = await createDataWatch(doors, journal, mounts);
  const beganAt = performance.now();
  let failure: unknown = null;
  try {
    await restoreOnce(context, { doors, watch, found }).catch((error: unknown) => {
      if (error instanceof Interrupted) throw error;
      failure = error;
    });
    const started = await watch.started();
    if (started.length > 0) await stopStarted(context, { started, starts });
    // If the started container is not listed, it had exited before the watch began. Its start aborted the copy, so the
    // copy is repeated.
    if (failure instanceof SomethingStarted)
      throw new TryAgain('restore after a start', dataNotRestored(failure.message), {
        tries: Number.POSITIVE_INFINITY,
      });
    if (failure instanceof UpdateError)
      throw new TryAgain('restore', dataNotRestored(failure.message, failure), {
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
 * Stops containers that were started during the restore. They may have written to the data, so the data must be
 * restored again.
 * @throws TryAgain; UpdateError data-not-restored
 */
async function stopStarted(
  context: JournaledContext,
  { started, starts }: { started: readonly StartedContainer[]; starts: RepeatedStarts },
): Promise<never> {
  const restless = joinWithAnd(starts.tooOften(started));
  if (restless !== '') {
    await stopCoveredServices(context);
    throw dataNotRestored(`${restless} was started repeatedly while the data was being restored`);
  }
  const names = joinWithAnd(started.map(({ name }) => name));
  const sentence = `${names} was started while the data was being restored; stopping it and restoring again`;
  await stopRestartedContainers(context, started);
  starts.note(started);
  throw new TryAgain('restore after a start', dataNotRestored(sentence), {
    sentence,
    tries: Number.POSITIVE_INFINITY,
  });
}

const dataNotRestored = (message: string, cause?: UpdateError): UpdateError =>
  cause?.code === 'no-space'
    ? notEnoughSpace(cause)
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
async function requireUsable(
  context: JournaledContext,
  { doors, found }: { doors: DataContext; found: RestorePointRecord },
): Promise<void> {
  const { journal } = context;
  const { state } = journal.data;
  try {
    await checkRestorePoint(doors, found);
  } catch (cause) {
    const error = requireUpdateError(cause);
    if (!unusableCodes.includes(error.code)) throw dataNotRestored(error.message, error);
    await journal.write({ state: { at: 'replacing' } });
    await startStopped(context);
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

async function startStopped(context: JournaledContext): Promise<void> {
  const { engine, log, journal } = context;
  const { changeover, project } = journal.data;
  const warn = (error: unknown) =>
    log.warn(`some containers could not be started again: ${requireUpdateError(error).message}`);
  await startDataServices(context).catch(warn);
  const { containers } = await listProjectContainers(engine, project.name);
  const ids = containers.filter((each) => shouldRun(changeover, serviceOf(each))).map(({ id }) => id);
  for (const id of ids)
    await withHeartbeat(log, 'waiting for a container to start', engine.startContainer(id)).catch(warn);
}

/** Checks whether a service was running before the update, or was added by the release. */
const shouldRun = (changeover: Changeover | null, service: string): boolean =>
  recordsOf(changeover, service).some(({ runs }) => runs) ||
  changeover?.moved.some(({ name, added }) => name === service && added !== undefined) === true;

/** Limits how often a container may be started while data is being restored, for one rollback. */
export const createRestoreStartCounter = (): RepeatedStarts => new RepeatedStarts(rounds);

async function restoreOnce(
  context: JournaledContext,
  { doors, watch, found }: { doors: DataContext; watch: StartWatch; found: RestorePointRecord },
): Promise<void> {
  await stopCoveredServices(context);
  const end = new AbortController();
  await watch.begin(end);
  await withHeartbeat(
    context.log,
    'restoring the data',
    restoreCopies(doors, found.place, found.point.mounts, end.signal),
  );
}

/**
 * Stops all containers of the covered services, and removes the new containers of the updated services. A restarted
 * engine does not start the stopped containers, but a user still can.
 */
export async function stopCoveredServices(context: JournaledContext): Promise<void> {
  const { engine, journal } = context;
  const { changeover, project, point } = journal.data;
  if (changeover === null || !point) return;
  const covered = coveredServicesOf(journal.data);
  const { containers, leftovers } = await listProjectContainers(engine, project.name);
  const own = [...containers, ...leftovers].filter((each) => covered.includes(serviceOf(each)));
  await stopWriters(context);
  await deferRestarts(context, point, own);
  const fresh = own.filter(
    (each) =>
      changeover.moved.some(({ name }) => name === serviceOf(each)) && !isPreviousContainer(changeover, each),
  );
  if (fresh.length > 0) await stopAndRemove(context, fresh);
}

/**
 * Restores the restart policies that the rollback changed, and starts the data services. Also restarts services that
 * keep a queue only in memory: jobs from the failed version must not be processed.
 * @throws UpdateError containers-not-restored
 */
export async function restartDataServices(context: JournaledContext): Promise<void> {
  const { engine, log, journal } = context;
  const { point, state, project, changeover } = journal.data;
  if (!point) return;
  for (const each of point.policies) await setPolicy(context, each);
  // A stop requested by a killed run may still be in progress, and would stop a service that was found running, so the
  // stop is completed first.
  if (state.at !== 'restoring' && point.state === 'saving') {
    const { containers } = await listProjectContainers(engine, project.name);
    const groups = await listCoveredContainers(engine, journal.data);
    if (changeover !== null && !hasNewVersionStarted(changeover, containers))
      await stopInOrder(context, groups);
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
