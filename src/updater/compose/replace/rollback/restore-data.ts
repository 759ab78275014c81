import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryOf } from '../../../../core/files/file-record.ts';
import { isFullDisk } from '../../../../core/files/file-system.ts';
import { Interrupted } from '../../../../core/progress/stops.ts';
import { type ErrorCode, requireUpdateError, UpdateError } from '../../../../core/progress/update-error.ts';
import { listProject } from '../../../../engine/api/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../../engine/container.ts';
import { engineErrorIn, rejections, unless } from '../../../../engine/http/engine-error.ts';
import { object } from '../../../../engine/json.ts';
import { checkCopies, checkRoom, restoreCopies } from '../../../data/copies.ts';
import type { DataDoors, PointPlace } from '../../../data/data-doors.ts';
import { isComplete, pointPlace } from '../../../data/point.ts';
import { PointRecord } from '../../../data/point-record.ts';
import {
  RepeatedStarts,
  SomethingStarted,
  type Started,
  type StartWatch,
} from '../../../data/watch-starts.ts';
import { TryAgain, untilDone } from '../../../run/drive.ts';
import { type Ending, keptEnding } from '../../../run/log/ending.ts';
import { withHeartbeat } from '../../../run/log/heartbeat.ts';
import { and, seconds, size } from '../../../run/log/wording.ts';
import { type Changeover, isBefore, newHasStarted, recordsOf } from '../../../run/state/changeover.ts';
import type { Journal, JournalData } from '../../../run/state/journal.ts';
import { freeReserve, reserveBytes, reserveFiles } from '../../../run/state/reserve.ts';
import { wayBackOf } from '../../../run/state/run-state.ts';
import { stopAndRemove } from '../containers.ts';
import {
  coveredServices,
  dataDoors,
  type JournalPoint,
  runningCovered,
  startDataServices,
  stopInOrder,
  stopStartedAgain,
  watchData,
  writePointState,
} from '../data-services.ts';
import type { JournaledContext } from '../replacement.ts';

const tries = 3;
/** How often a container may be started while data is restored. */
const rounds = 3;

/** The restore point of a run; null if it has none, or an incomplete one. */
export async function openPoint({ data: { point, project } }: Journal): Promise<PointRecord | null> {
  if (!point || point.state === 'copying' || point.state === 'saving') return null;
  const record = await PointRecord.open(pointPlace(point.directory, project));
  return record !== null && isComplete(record.point) ? record : null;
}

/** Computes the hashes of a run's restore point if they are missing. */
export async function completePoint(context: JournaledContext): Promise<void> {
  const record = await openPoint(context.journal);
  if (record === null) return;
  const doors = await dataDoors(context);
  await persistently(doors, () => record.hashed(doors));
}

/**
 * Whether all of a restore point can be restored. Nothing is changed.
 * @throws UpdateError modified-since, restore-point-damaged, restore-point-unreadable, no-space
 */
export async function checkPoint(doors: DataDoors, record: PointRecord): Promise<void> {
  await persistently(doors, async () => {
    await checkRoom(doors, record.point);
    await record.hashed(doors);
    const checking = checkCopies(doors, record.place, record.point);
    await withHeartbeat(doors.log, "verifying the restore point's hashes", checking);
  });
}

/** An engine that is restarted, or whoever ends a container of ours, says nothing about the restore point. */
const persistently = <T>(doors: DataDoors, work: () => Promise<T>): Promise<T> =>
  untilDone(doors, () =>
    work().catch((cause: unknown) => {
      const error = requireUpdateError(cause, 'engine-unavailable');
      throw new TryAgain('the restore point', error, { sentence: `${error.message}; trying again`, tries });
    }),
  );

/**
 * From here on the run rolls back, whoever is killed. Ends with everything stopped that could write to the data.
 * @param target `back`: the journal of the run that is undone. `isChecked`: the restore point was checked just before
 * @throws UpdateError no-space
 */
export async function beginRollback(
  context: JournaledContext,
  { record, back, isChecked = false }: { record: PointRecord; back: JournalData; isChecked?: boolean },
  ending: Ending,
): Promise<void> {
  const { journal } = context;
  const { place, point } = record;
  const { from, tags, changeover, blueprints } = back;
  // Whoever continues after a kill looks for temporary files by the name of this run.
  const { run, project } = journal.data;
  const files = back.files.map((each) => ({ ...each, temporary: temporaryOf(each.real, run) }));
  const { riders = [], ports = [] } = journal.data.point ?? back.point ?? {};
  const failure = await journal.note({
    ...{ from, files, tags, changeover, blueprints },
    state: { at: 'restoring', ending: keptEnding(context.log, ending) },
    point: {
      ...{ directory: place.directory, state: 'saved', riders, ports, policies: [], isChecked },
      ...{ services: point.services, inMemory: point.inMemory },
    },
  });
  await stopWriters(context);
  // The larger part of the reserve is for the engine. It is deleted when the journal contains the rollback.
  if (failure === null) return;
  await freeReserve(project.directory, ['journal']);
  await freeOldReserve(place);
  await journal.write().catch(failNotWritten);
}

/** A journal that cannot be written ends a rollback with everything stopped. @throws that error, or any other unchanged */
export function failNotWritten(cause: unknown): never {
  const error = requireUpdateError(cause, 'write-failed');
  throw isFullDisk(error.cause) ? notEnoughSpace(error) : dataNotRestored(error.message, error);
}

/** Stopping takes no space, unlike everything else: it comes first on a disk that the new version may have filled. */
async function stopWriters(context: JournaledContext): Promise<void> {
  await stopInOrder(context, await runningCovered(context.engine, context.journal.data));
}

/** An earlier release had one in each restore point. */
const freeOldReserve = ({ directory }: PointPlace): Promise<void> =>
  rm(join(directory, 'reserve'), { force: true }).catch(() => {});

/** The rollback has not ended, and everything stays stopped for the next run. */
const notEnoughSpace = (cause: UpdateError): UpdateError =>
  new UpdateError('no-space', cause.message, {
    ...{ outcome: 'broken', detail: cause.detail, cause },
    advice: `Free at least ${size(Number(cause.fields.missing ?? 2 * reserveBytes))} and ${2 * reserveFiles} inodes on this disk, then run {command} again to continue the restore. Do not start the stopped services.`,
  });

/**
 * Restores the data once, and compares it with the restore point. Nothing of the covered services runs from the first stop
 * until the data services are started again. Can be repeated from wherever it was.
 * @param starts what was started while data was restored
 * @throws TryAgain; UpdateError data-not-restored
 */
export async function restoreData(context: JournaledContext, starts: RepeatedStarts): Promise<void> {
  const { log, journal } = context;
  const { changeover, point, project } = journal.data;
  if (!point || changeover === null) return;
  const place = pointPlace(point.directory, project);
  const found = await PointRecord.open(place).catch((cause) => {
    throw dataNotRestored(cause.message, requireUpdateError(cause));
  });
  if (found === null)
    throw dataNotRestored(
      `there is no restore point in ${point.directory}; mount the directory that the update used, and pass it with --restore-dir`,
    );
  const { mounts, version } = found.point;
  const doors = await dataDoors(context);
  await stopWriters(context);
  await freeReserve(project.directory);
  await freeOldReserve(place);
  // An earlier release checked the restore point before the journal named it.
  if (point.isChecked === false) await requireUsable(context, { doors, found });
  log.info(`restoring the data of ${version}: ${and(mounts.map(({ where }) => where)) || 'no data'}`);
  const watch = await watchData(doors, journal, mounts);
  const beganAt = performance.now();
  let failure: unknown = null;
  try {
    await restoreOnce(context, { doors, watch, found }).catch((error: unknown) => {
      if (error instanceof Interrupted) throw error;
      failure = error;
    });
    const started = await watch.started();
    if (started.length > 0) await stopStarted(context, { started, starts });
    // It had ended before the watch began: a copy that was ended for it is made again.
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
  await writePointState(journal, { state: 'restored' });
  log.info(
    `restored the data of ${version} in ${seconds(performance.now() - beganAt, 1)}; the data is identical to the restore point`,
  );
}

/** Something may have written to the data: it is stopped, and the data restored again. @throws TryAgain; UpdateError data-not-restored */
async function stopStarted(
  context: JournaledContext,
  { started, starts }: { started: readonly Started[]; starts: RepeatedStarts },
): Promise<never> {
  const restless = and(starts.tooOften(started));
  if (restless !== '') {
    await standStill(context);
    throw dataNotRestored(`${restless} was started repeatedly while the data was being restored`);
  }
  const names = and(started.map(({ name }) => name));
  const sentence = `${names} was started while the data was being restored; stopping it and restoring again`;
  await stopStartedAgain(context, started);
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

/** With these, no later run could restore the data. */
const unusableCodes: readonly ErrorCode[] = [
  'restore-point-damaged',
  'restore-point-unreadable',
  'modified-since',
];

/**
 * Checks the restore point before any data is changed. If it cannot be used, everything that was stopped is started again.
 * @throws UpdateError
 */
async function requireUsable(
  context: JournaledContext,
  { doors, found }: { doors: DataDoors; found: PointRecord },
): Promise<void> {
  const { journal } = context;
  const { state } = journal.data;
  try {
    await checkPoint(doors, found);
  } catch (cause) {
    const error = requireUpdateError(cause);
    if (!unusableCodes.includes(error.code)) throw dataNotRestored(error.message, error);
    await journal.write({ state: { at: 'replacing' } });
    await startStopped(context);
    if (wayBackOf(state)?.ending?.outcome === 'updated') throw error;
    throw cannotRollBack(error);
  }
  await writePointState(journal, { isChecked: true });
}

/** The new version stays as it is. */
export const cannotRollBack = (cause: Error): UpdateError =>
  new UpdateError('broken', `cannot roll back: ${cause.message}`, {
    state: `the new version is unhealthy; it was not rolled back, because ${cause.message}`,
    cause,
  });

async function startStopped(context: JournaledContext): Promise<void> {
  const { engine, log, journal } = context;
  const { changeover, project } = journal.data;
  const warn = (error: unknown) =>
    log.warn(`not everything could be started again: ${requireUpdateError(error).message}`);
  await startDataServices(context).catch(warn);
  const { containers } = await listProject(engine, project.name);
  const ids = containers.filter((each) => shouldRun(changeover, serviceOf(each))).map(({ id }) => id);
  for (const id of ids)
    await withHeartbeat(log, 'waiting for a container to start', engine.startContainer(id)).catch(warn);
}

/** Services that ran before, and those that the release has added. */
const shouldRun = (changeover: Changeover | null, service: string): boolean =>
  recordsOf(changeover, service).some(({ runs }) => runs) ||
  changeover?.moved.some(({ name, added }) => name === service && added !== undefined) === true;

/** For one rollback: how often a container may be started while data is restored. */
export const startsWhileRestoring = (): RepeatedStarts => new RepeatedStarts(rounds);

async function restoreOnce(
  context: JournaledContext,
  { doors, watch, found }: { doors: DataDoors; watch: StartWatch; found: PointRecord },
): Promise<void> {
  await standStill(context);
  const end = new AbortController();
  await watch.begin(end);
  await withHeartbeat(
    context.log,
    'restoring the data',
    restoreCopies(doors, found.place, found.point.mounts, end.signal),
  );
}

/**
 * Stops every container of the covered services, and removes new ones of the updated services. The engine starts none of
 * them when it is restarted; a person can.
 */
export async function standStill(context: JournaledContext): Promise<void> {
  const { engine, journal } = context;
  const { changeover, project, point } = journal.data;
  if (changeover === null || !point) return;
  const covered = coveredServices(journal.data);
  const { containers, leftovers } = await listProject(engine, project.name);
  const own = [...containers, ...leftovers].filter((each) => covered.includes(serviceOf(each)));
  await stopWriters(context);
  await deferRestarts(context, point, own);
  const fresh = own.filter(
    (each) => changeover.moved.some(({ name }) => name === serviceOf(each)) && !isBefore(changeover, each),
  );
  if (fresh.length > 0) await stopAndRemove(context, fresh);
}

/** Unlike `unless-stopped`, the other restart policies make the engine start stopped containers when it restarts. */
async function deferRestarts(
  context: JournaledContext,
  point: JournalPoint,
  own: readonly Container[],
): Promise<void> {
  const known = new Set(point.policies.map(({ id }) => id));
  const raw = await context.engine.inspectRaw(own.map(({ id }) => id));
  const policies = raw.flatMap(({ Id, HostConfig }) => {
    const policy = policyOf(object(HostConfig).RestartPolicy);
    return policy === 'no' || policy === 'unless-stopped' ? [] : [{ id: String(Id), policy }];
  });
  if (policies.length === 0) return;
  // A kill, or a round before this one, may have noted a policy that still applies.
  const added = policies.filter(({ id }) => !known.has(id));
  if (added.length > 0) await writePointState(context.journal, { policies: [...point.policies, ...added] });
  for (const { id } of policies) await setPolicy(context, { id, policy: 'unless-stopped' });
}

/** A container that is gone is created again with its policy. */
async function setPolicy(
  { engine, log }: Pick<JournaledContext, 'engine' | 'log'>,
  { id, policy }: JournalPoint['policies'][number],
): Promise<void> {
  await engine.setRestartPolicy(id, policy).catch((error: unknown) => {
    const cause = engineErrorIn(error);
    if (cause?.status == null) throw error;
    if (cause.code === 'not-found') return;
    const command = `docker update --restart=${policy} ${id.slice(0, 12)}`;
    log.warn(`${command} failed: ${cause.message}`);
  });
}

function policyOf(given: unknown): string {
  const { Name = 'no', MaximumRetryCount: most = 0 } = object(given);
  return `${Name || 'no'}${Name === 'on-failure' && most ? `:${most}` : ''}`;
}

/**
 * Starts the data services, those first whose policies the rollback has changed, and restarts services that keep a queue
 * only in memory: what the failed version put there is not to be worked on.
 * @throws UpdateError containers-not-restored
 */
export async function startDataAgain(context: JournaledContext): Promise<void> {
  const { engine, log, journal } = context;
  const { point, state, project, changeover } = journal.data;
  if (!point) return;
  for (const each of point.policies) await setPolicy(context, each);
  // A stop that a kill has interrupted goes on, and would end a service after it was found running.
  if (state.at !== 'restoring' && point.state === 'saving') {
    const { containers } = await listProject(engine, project.name);
    const groups = await runningCovered(engine, journal.data);
    if (changeover !== null && !newHasStarted(changeover, containers)) await stopInOrder(context, groups);
  }
  await startDataServices(context);
  if (state.at !== 'restoring') return;
  const { containers } = await listProject(engine, project.name);
  const inMemory = containers.filter((each) => point.inMemory.includes(serviceOf(each)) && isUp(each));
  for (const { id, name } of inMemory) {
    const restarted = await engine
      .request('restartContainer', { params: { id } })
      .catch(unless(...rejections));
    if (restarted === null)
      log.warn(`${name} could not be restarted, and keeps its data of the failed version`);
    else log.info(`restarted ${name}, which keeps its data only in memory`);
  }
}
