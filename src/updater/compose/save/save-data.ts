import { CancelledError, InterruptedError } from '../../../core/cancellation/cancelled.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { type Container, serviceOf } from '../../../engine/objects/container.ts';
import {
  ContainerStartedError,
  type ContainerStartWatch,
  RepeatedStartCounter,
} from '../../data/copies/container-start-watch.ts';
import {
  copyMountsWhileRunning,
  copyMountsWhileStopped,
  createRestoreHelperContainers,
} from '../../data/copies/copy-mounts.ts';
import type { PlannedRestorePoint } from '../../data/copies/estimate-restore-point.ts';
import { RestorePointRecord } from '../../data/copies/restore-point-record.ts';
import type { DataContext, RestorePointLocation } from '../../data/data-context.ts';
import { syncFileSystems } from '../../data/helper-program/rsync.ts';
import { removeProjectRestorePoints } from '../../data/remove-restore-point.ts';
import {
  createRestorePointDirectory,
  type RestorePointRecordData,
  restorePointLocationOf,
} from '../../data/restore-point.ts';
import { retainImages } from '../../data/retain-images.ts';
import { formatSeconds, formatSize, joinWithAnd } from '../../run/log/format-values.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import type { JournalData } from '../../run/state/journal.ts';
import { createReserveFiles } from '../../run/state/reserve.ts';
import { hasNewVersionStarted, type Rollout, serviceContainerRecordsOf } from '../../run/state/rollout.ts';
import { findListeningPorts, startDataServices } from '../data-services/start-data-services.ts';
import {
  createDataContext,
  listContainersInNamespaces,
  listContainersInStopOrder,
  stopContainerGroups,
  stopRestartedContainers,
  watchDataWriterStarts,
  writeRestorePointState,
} from '../data-services/stop-data-services.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { fetchServiceSnapshots } from './prepare-rollback.ts';
import { removeRunRestorePoint } from './remove-run-restore-point.ts';

/** How often one container may be started while data is being copied. */
const maxStarts = 2;
/** A container that restarts within this many ms of its stop counts as being in a restart loop. */
const restartLoopMs = 10_000;

/** Restore point to create, and the services to stop for it. */
interface SaveRequest {
  point: PlannedRestorePoint;
  changeover: Rollout;
  /** Compose model and name of the project, according to its files. */
  installation: { model: ComposeModel; project: { name: string } };
}

interface SaveContext extends JournaledContext, SaveRequest {
  doors: DataContext;
  place: RestorePointLocation;
  record: RestorePointRecord;
}

/** Guards the saved data until the old containers are replaced: the old version must not change the data again. */
export interface DataSaveResult {
  record: RestorePointRecord;
  /**
   * Saves the data again if the old version has been started since the last save.
   * @throws UpdateError save-failed
   */
  saveAgainIfStarted(): Promise<void>;
  /** Stops watching for starts of the old version, which the `recreate` phase is about to replace. */
  endWatch(): void;
}

/**
 * Runs the first half of the `save` phase, which copies the data while all services are running.
 * @throws UpdateError save-failed, no-space; CancelledError
 */
export async function saveDataWhileRunning(
  context: JournaledContext,
  planned: PlannedRestorePoint,
): Promise<void> {
  const { log, startedAt, options, journal } = context;
  log.enterPhase('save');
  const dataContext = await createDataContext(context);
  const { project } = journal.data;
  // A used restore point is no longer needed, because a rollback made its data current.
  await removeProjectRestorePoints(dataContext, planned.directory, project, { onlyUsed: true });
  const location = await createRestorePointDirectory(planned.directory, project, startedAt);
  await journal.write({
    state: { at: 'saving' },
    point: { ...initialJournaledRestorePoint, directory: location.directory, inMemory: planned.inMemory },
  });
  log.info(
    `copying the data (${formatSize(planned.bytes)}) while ${options.product.name} is still available`,
  );
  const beganAt = performance.now();
  await awaitWithHeartbeat(
    log,
    'copying the data',
    copyMountsWhileRunning(dataContext, location, planned.mounts),
  );
  log.info(
    `copied the data in ${formatSeconds(performance.now() - beganAt, 1)}; only changes made since then remain to be copied`,
  );
}

export const initialJournaledRestorePoint = {
  state: 'copying',
  services: [],
  riders: [],
  ports: [],
  policies: [],
} as const satisfies Partial<JournalData['point']>;

/**
 * Runs the second half of the `save` phase, with the covered services stopped. Returns null if another version was
 * started. The update then continues without a restore point.
 * @throws UpdateError save-failed, no-space, containers-not-restored; CancelledError
 */
export async function saveDataWhileStopped(
  context: JournaledContext,
  requested: SaveRequest,
): Promise<DataSaveResult | null> {
  const { log, engine, journal } = context;
  const { project } = journal.data;
  const work = await prepareStop(context, requested, 'update');
  const { record, changeover: rollout } = work;
  const watch = await watchDataWriterStarts(work.doors, work.journal, work.point.mounts);
  try {
    if (!(await stopAndCopy(work, watch))) {
      watch.close();
      return null;
    }
  } catch (error) {
    watch.close();
    throw error;
  }
  return {
    record,
    async saveAgainIfStarted() {
      const updated = new Set(rollout.moved.map(({ name }) => name));
      const started = (await watch.listStartedContainers()).filter(({ service }) => updated.has(service));
      const { containers } = await listProjectContainers(engine, project.name);
      if (started.length === 0 || hasNewVersionStarted(rollout, containers)) return;
      log.warn(
        `${joinWithAnd(started.map(({ name }) => name))} was started after the data was saved; saving the data again`,
      );
      await record.update({ at: null });
      await stopAndCopy(work, watch);
    },
    endWatch: () => watch.close(),
  };
}

/**
 * Saves the data that a rollback is about to replace, for manual recovery. All covered services stay stopped.
 * @throws UpdateError save-failed, no-space; CancelledError
 */
export async function saveDataBeforeRollback(
  context: JournaledContext,
  requested: SaveRequest,
): Promise<void> {
  await saveDataWhileRunning(context, requested.point);
  const work = await prepareStop(context, requested, 'current');
  const watch = await watchDataWriterStarts(work.doors, work.journal, work.point.mounts);
  try {
    if (!(await copyWhileStopped(work, watch)))
      throw new UpdateError(
        'save-failed',
        'another version was started while the current data was being saved',
      );
    await syncCopies(work);
    await work.record.update({ at: new Date().toISOString() });
    context.log.info(`saved the current data in ${work.place.directory} for manual recovery`);
  } finally {
    watch.close();
  }
}

/**
 * Before the first stop, writes to disk the restore point's record and everything that is needed to restart the
 * services.
 */
async function prepareStop(
  context: JournaledContext,
  requested: SaveRequest,
  kind: RestorePointRecordData['kind'],
): Promise<SaveContext> {
  const { engine, cancellation, journal } = context;
  const { point, changeover: rollout } = requested;
  const dataContext = await createDataContext(context);
  const work = { ...context, ...requested, doors: dataContext };
  const { project, run } = journal.data;
  if (!journal.data.point)
    throw new UpdateError('save-failed', 'the journal no longer contains the restore point');
  const location = restorePointLocationOf(journal.data.point.directory, project);
  await journalCoveredServices(work);
  const old = journal.data.blueprints.map(({ imageId }) => imageId);
  // Also retain the updater's image: a restore needs it, and its tag may move to a newer updater's image.
  const images = [...new Set([...old, dataContext.helperImageId])];
  await retainImages(engine, project.name, location, images);
  if (kind === 'update') {
    await createRestoreHelperContainers(dataContext, location, point.mounts);
    await createReserveFiles(project.directory);
  }
  const { words } = rollout;
  const { services, inMemory, mounts, excluded, bytes } = point;
  const record = await RestorePointRecord.create(location, {
    ...{ format: 2, kind, project: project.name, directory: project.directory, run, at: null },
    ...{ version: words.from, next: words.goal },
    ...{ services, inMemory, mounts, excluded, bytes, images },
    ...{ hashes: null, fileHashes: [], downtimeSeconds: null, back: null },
  });
  cancellation.signal.throwIfAborted();
  return { ...work, place: location, record };
}

/** Before the first stop, writes to the journal everything required to start the services again. */
async function journalCoveredServices(work: Omit<SaveContext, 'place' | 'record'>): Promise<void> {
  const { engine, log, journal, changeover: rollout, point, installation, doors: dataContext } = work;
  const names = [...rollout.moved.map(({ name }) => name), ...point.services];
  const records = names.flatMap((name) => serviceContainerRecordsOf(rollout, name));
  const snapshots = await fetchServiceSnapshots({ engine, log }, rollout, names, installation);
  const services = point.services.map((name) => ({ name, own: serviceContainerRecordsOf(rollout, name) }));
  const running = await engine.inspectContainers(
    services.flatMap(({ own }) => own.filter(({ runs }) => runs).map(({ id }) => id)),
  );
  const covered = new Set(records.map(({ id }) => id));
  const riders = (await listContainersInNamespaces(engine, running)).filter(({ id }) => !covered.has(id));
  const ports = [];
  for (const { name, own } of services) {
    const one = running.find(({ id }) => own.some((record) => record.id === id));
    const snapshot = snapshots.find(({ id }) => id === one?.id);
    const found = one ? await findListeningPorts(dataContext, one, snapshot) : [];
    if (found.length > 0) ports.push({ service: name, ports: found });
  }
  if (riders.length > 0)
    log.info(
      `also stopping ${joinWithAnd(riders.map(({ name }) => name))}, which ${riders.length > 1 ? 'share' : 'shares'} a namespace with a stopped container`,
    );
  await journal.write({ changeover: rollout, blueprints: snapshots });
  await writeRestorePointState(journal, {
    services: point.services,
    riders: riders.map(({ id, name }) => ({ id, name })),
    ports,
  });
}

const syncCopies = ({ log, place: location }: SaveContext): Promise<void> =>
  awaitWithHeartbeat(log, 'writing the restore point to disk', syncFileSystems([location.directory]));

/**
 * Stops the services and saves their data. Returns false if another version started; there is then no restore point.
 */
async function stopAndCopy(work: SaveContext, watch: ContainerStartWatch): Promise<boolean> {
  const { log, journal, point, record, options } = work;
  const stoppedAt = await copyWhileStopped(work, watch);
  if (stoppedAt === null) {
    await continueWithoutRestorePoint(work);
    return false;
  }
  const at = new Date().toISOString();
  await Promise.all([startDataServices(work), syncCopies(work)]);
  const took = performance.now() - stoppedAt;
  await record.update({ at, downtimeSeconds: Math.round(took / 100) / 10 });
  const { version, bytes, downtimeSeconds } = record.point;
  await writeRestorePointState(journal, { state: 'saved' });
  const what = joinWithAnd(point.mounts.map(({ where }) => where)) || 'no data';
  log.info(
    `saved ${what} as of ${at} (${formatSize(point.bytes)}); ${options.product.name} has been unavailable for ${formatSeconds(took, 1)}; the restore point is in ${work.place.directory}`,
    { restorePoint: { at, version, bytes, downtimeSeconds } },
  );
  return true;
}

/**
 * Stops the workers, the app and the data services, each with its grace period. Returns the time (`performance.now()`)
 * at which the downtime begins, which is after the last worker has stopped.
 */
async function stopCoveredContainers(work: SaveContext): Promise<number> {
  const { log, engine, journal, changeover: rollout } = work;
  await writeRestorePointState(journal, { state: 'saving' });
  const groups = await listContainersInStopOrder(engine, journal.data);
  const names = groups.flat().map(({ name }) => name);
  if (names.length > 0) log.info(`stopping ${joinWithAnd(names)}, then copying the changes`);
  const isWorker = (each: Container) =>
    rollout.moved.some(({ isApp, name }) => !isApp && name === serviceOf(each));
  const first = groups.findIndex((group) => !group.every(isWorker));
  const [workers, others] = first < 0 ? [groups, []] : [groups.slice(0, first), groups.slice(first)];
  const killed = await stopContainerGroups(work, workers);
  const stoppedAt = performance.now();
  killed.push(...(await stopContainerGroups(work, others)));
  if (killed.length > 0)
    log.warn(
      `${joinWithAnd(killed)} did not stop in time and had to be killed; the saved data is in the same state as after a crash`,
    );
  return stoppedAt;
}

/**
 * Stops the covered services and copies the changes. Returns the time at which the downtime began; null if another
 * version was started.
 * @throws UpdateError save-failed if a container is started repeatedly
 */
async function copyWhileStopped(work: SaveContext, watch: ContainerStartWatch): Promise<number | null> {
  const {
    engine,
    log,
    doors: dataContext,
    place: location,
    journal,
    changeover: rollout,
    point,
    options,
  } = work;
  // Starts are counted for each container, because one `docker compose up` may start several containers in turn.
  const starts = new RepeatedStartCounter(maxStarts, restartLoopMs);
  let stoppedAt = performance.now();
  let copyingSince: number | null = null;
  let stop = async () => {
    stoppedAt = await stopCoveredContainers(work);
  };
  for (;;) {
    const end = new AbortController();
    const stopped = stop().then(() => watch.begin(end));
    const copying = copyMountsWhileStopped(dataContext, location, point.mounts, {
      stopped,
      signal: end.signal,
    }).then(
      () => null,
      (error: unknown) => error,
    );
    await stopped.catch(async (error: unknown) => {
      end.abort(error);
      await copying;
      throw error;
    });
    copyingSince ??= performance.now();
    const timer = startAbortTimer(end, options.data.maxDowntimeSeconds, copyingSince);
    const failure = await awaitWithHeartbeat(log, 'copying the changes', copying).finally(() =>
      clearTimeout(timer),
    );
    if (failure instanceof CancelledError || failure instanceof InterruptedError) throw failure;
    const [started, { containers }] = await Promise.all([
      watch.listStartedContainers(),
      listProjectContainers(engine, journal.data.project.name),
    ]);
    if (hasNewVersionStarted(rollout, containers)) return null;
    if (started.length === 0) {
      if (failure === null) return stoppedAt;
      if (!(failure instanceof ContainerStartedError)) throw failure;
      continue;
    }
    const restless = joinWithAnd(starts.findRepeatedlyStarted(started));
    if (restless !== '') {
      throw new UpdateError(
        'save-failed',
        `${restless} was started repeatedly while the data was being copied`,
        {
          advice: `Make sure that nothing else starts ${restless} (for example, a systemd unit or docker compose up in another terminal), then run {command} again.`,
        },
      );
    }
    log.warn(
      `${joinWithAnd(started.map(({ name }) => name))} was started while the data was being copied; stopping it and copying again`,
    );
    starts.recordStops(started);
    stop = () => stopRestartedContainers(work, started);
  }
}

/** Starts a timer that aborts the second copy, including its repetitions, after twice the allowed downtime. */
function startAbortTimer(
  end: AbortController,
  limit: number | null,
  since: number,
): NodeJS.Timeout | undefined {
  if (limit === null) return undefined;
  const advice =
    'Exclude data that does not need to be restored, or allow a longer downtime, then run {command} again.';
  const message = `the second copy of the data took longer than ${2 * limit} s, twice the time that --max-downtime allows`;
  const error = new UpdateError('save-failed', message, { advice });
  return setTimeout(() => end.abort(error), since + 2_000 * limit - performance.now());
}

/** Continues without a restore point. Also rules out a rollback, because another version may have changed the data. */
async function continueWithoutRestorePoint(work: SaveContext): Promise<void> {
  const { log, journal, changeover: rollout } = work;
  log.warn(
    `another version of ${joinWithAnd(rollout.moved.map(({ name }) => name))} was started while the data was being saved; the update continues without a restore point`,
  );
  await journal.write({ started: true });
  await startDataServices(work);
  await removeRunRestorePoint(work);
}
