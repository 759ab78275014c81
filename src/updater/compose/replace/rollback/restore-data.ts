import { temporaryOf } from '../../../../core/files/file-record.ts';
import { Interrupted } from '../../../../core/progress/stops.ts';
import { UpdateError } from '../../../../core/progress/update-error.ts';
import { listProject } from '../../../../engine/api/project-containers.ts';
import { inspectContainers, inspectWhole, stopContainers } from '../../../../engine/api/query.ts';
import { type Container, isUp, serviceOf } from '../../../../engine/container.ts';
import { object } from '../../../../engine/json.ts';
import { checkCopies, checkRoom, restoreCopies } from '../../../data/copies.ts';
import type { DataDoors } from '../../../data/data-doors.ts';
import { giveReserve, isComplete, markUsed, pointPlace } from '../../../data/point.ts';
import { PointRecord } from '../../../data/point-record.ts';
import { RepeatedStarts, SomethingStarted, type Started, StartWatch } from '../../../data/watch-starts.ts';
import { TryAgain, untilDone } from '../../../run/drive.ts';
import { type Ending, keptEnding } from '../../../run/log/ending.ts';
import { withHeartbeat } from '../../../run/log/heartbeat.ts';
import { and, seconds } from '../../../run/log/wording.ts';
import type { RunContext } from '../../../run/run-context.ts';
import { type Changeover, isBefore, newHasStarted } from '../../../run/state/changeover.ts';
import type { Journal, JournalData } from '../../../run/state/journal.ts';
import {
  dataDoors,
  type JournalPoint,
  runningCovered,
  startDataServices,
  stopInOrder,
  writePointState,
} from '../data-services.ts';

const tries = 3;
/** How often a container may be started while data is restored. */
const rounds = 3;

/** The restore point of a run, with its hashes; null if it has none, or an incomplete one. */
export async function completePoint(
  context: Pick<RunContext, 'engine' | 'log'>,
  journal: Journal,
): Promise<{ record: PointRecord; doors: DataDoors } | null> {
  const { point, project } = journal.data;
  if (!point || point.state === 'copying' || point.state === 'saving') return null;
  const record = await PointRecord.open(pointPlace(point.directory, project));
  if (record === null || !isComplete(record.point)) return null;
  const doors = await dataDoors(context, journal);
  await persistently(doors, () => record.hashed(doors));
  return { record, doors };
}

/**
 * Whether all of a restore point can be restored. Nothing is touched.
 * @throws UpdateError restore-point-damaged, restore-point-unreadable, no-space, data-not-restored
 */
export async function checkPoint(doors: DataDoors, { place, point }: PointRecord): Promise<void> {
  await persistently(doors, async () => {
    const checking = checkCopies(doors, place, point);
    await withHeartbeat(doors.log, "verifying the restore point's hashes", checking);
    await checkRoom(doors, point);
  });
}

/** An engine that is restarted, or whoever ends a container of ours, says nothing about the restore point. */
const persistently = <T>({ log }: Pick<DataDoors, 'log'>, work: () => Promise<T>): Promise<T> =>
  untilDone(log, () =>
    work().catch((error: unknown) => {
      if (!(error instanceof UpdateError) || error.code !== 'engine-unavailable') throw error;
      throw new TryAgain('the restore point', error, { sentence: `${error.message}; trying again`, tries });
    }),
  );

/**
 * From here on the run rolls back, whoever is killed. The restore point was checked just before.
 * @param target `back`: the run that is undone, as its journal says
 * @throws UpdateError write-failed: nothing was changed
 */
export async function beginRollback(
  { log }: Pick<RunContext, 'log'>,
  journal: Journal,
  { record, back }: { record: PointRecord; back: JournalData },
  ending: Ending,
): Promise<void> {
  const { place, point } = record;
  await giveReserve(place);
  const { from, tags, changeover, blueprints } = back;
  // Whoever continues after a kill looks for temporary files by the name of this run.
  const { run } = journal.data;
  const files = back.files.map((each) => ({ ...each, temporary: temporaryOf(each.real, run) }));
  const { riders = [], ports = [] } = journal.data.point ?? back.point ?? {};
  await journal.write({
    ...{ from, files, tags, changeover, blueprints },
    state: { at: 'restoring', ending: keptEnding(log, ending) },
    point: {
      ...{ directory: place.directory, state: 'saved', riders, ports, policies: [] },
      ...{ services: point.services, inMemory: point.inMemory },
    },
  });
}

/**
 * Restores the data once, and compares it with the restore point. Nothing of the covered services runs from the first stop
 * until the data services are started again. Can be repeated from wherever it was.
 * @param starts what was started while data was restored
 * @throws TryAgain; UpdateError data-not-restored
 */
export async function restoreData(
  context: RunContext,
  journal: Journal,
  starts: RepeatedStarts,
): Promise<void> {
  const { log } = context;
  const { changeover, point, project } = journal.data;
  if (!point || changeover === null) return;
  const place = pointPlace(point.directory, project);
  const found = await PointRecord.open(place).catch((cause: unknown) => {
    throw cause instanceof UpdateError ? dataNotRestored(cause.message, cause) : cause;
  });
  if (found === null)
    throw dataNotRestored(
      `there is no restore point in ${point.directory}; mount the directory that the update used, and pass it with --restore-dir`,
    );
  const { mounts, version } = found.point;
  const doors = await dataDoors(context, journal);
  log.info(`restoring the data of ${version}: ${and(mounts.map(({ where }) => where)) || 'no data'}`);
  const covered = [...changeover.moved.map(({ name }) => name), ...point.services];
  const watch = await StartWatch.open(doors, { project, covered, mounts });
  const beganAt = performance.now();
  let failure: unknown = null;
  try {
    await restoreOnce(context, journal, { doors, watch, found }).catch((error: unknown) => {
      if (error instanceof Interrupted) throw error;
      failure = error;
    });
    const started = await watch.started();
    if (started.length > 0) await stopStarted(context, journal, { started, starts });
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
  context: RunContext,
  journal: Journal,
  { started, starts }: { started: readonly Started[]; starts: RepeatedStarts },
): Promise<never> {
  const { engine } = context;
  const restless = and(starts.tooOften(started));
  if (restless !== '') {
    await standStill(context, journal);
    throw dataNotRestored(`${restless} was started repeatedly while the data was being restored`);
  }
  const names = and(started.map(({ name }) => name));
  const sentence = `${names} was started while the data was being restored; stopping it and restoring again`;
  const ids = started.map(({ id }) => id);
  await stopInOrder(context, [(await inspectContainers(engine, ids)).filter(isUp)]);
  starts.note(started);
  throw new TryAgain('restore after a start', dataNotRestored(sentence), {
    sentence,
    tries: Number.POSITIVE_INFINITY,
  });
}

const dataNotRestored = (message: string, cause?: UpdateError): UpdateError =>
  new UpdateError('data-not-restored', message, { ...(cause && { detail: cause.detail, cause }) });

/** For one rollback: how often a container may be started while data is restored. */
export const startsWhileRestoring = (): RepeatedStarts => new RepeatedStarts(rounds);

async function restoreOnce(
  context: RunContext,
  journal: Journal,
  { doors, watch, found }: { doors: DataDoors; watch: StartWatch; found: PointRecord },
): Promise<void> {
  await standStill(context, journal);
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
export async function standStill({ engine, log }: RunContext, journal: Journal): Promise<void> {
  const { changeover, project, point } = journal.data;
  if (changeover === null || !point) return;
  const covered = [...changeover.moved.map(({ name }) => name), ...point.services];
  const { containers, leftovers } = await listProject(engine, project.name);
  const own = [...containers, ...leftovers].filter((each) => covered.includes(serviceOf(each)));
  await deferRestarts({ engine }, journal, point, own);
  await stopInOrder({ engine, log }, await runningCovered({ engine }, journal.data, changeover));
  const fresh = own.filter(
    (each) => changeover.moved.some(({ name }) => name === serviceOf(each)) && !isBefore(changeover, each),
  );
  if (fresh.length === 0) return;
  const ids = fresh.map(({ id }) => id);
  await stopContainers(engine, ids);
  await engine.callOrThrow(['rm', '--force', ...ids]);
}

/** Unlike `unless-stopped`, the other restart policies make the engine start stopped containers when it restarts. */
async function deferRestarts(
  { engine }: Pick<RunContext, 'engine'>,
  journal: Journal,
  point: JournalPoint,
  own: readonly Container[],
): Promise<void> {
  const known = new Set(point.policies.map(({ id }) => id));
  const raw = await inspectWhole(
    engine,
    own.map(({ id }) => id),
  );
  const policies = raw.flatMap(({ Id, HostConfig }) => {
    const policy = policyOf(object(HostConfig).RestartPolicy);
    return policy === 'no' || policy === 'unless-stopped' ? [] : [{ id: String(Id), policy }];
  });
  if (policies.length === 0) return;
  // A kill, or a round before this one, may have noted a policy that still applies.
  const added = policies.filter(({ id }) => !known.has(id));
  if (added.length > 0) await writePointState(journal, { policies: [...point.policies, ...added] });
  await engine.call(['update', '--restart=unless-stopped', ...policies.map(({ id }) => id)]);
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
export async function startDataAgain(
  context: RunContext,
  journal: Journal,
  changeover: Changeover,
): Promise<void> {
  const { engine, log } = context;
  const { point, state, project } = journal.data;
  if (!point) return;
  // A container that is gone is created again with its policy.
  for (const { id, policy } of point.policies) await engine.call(['update', `--restart=${policy}`, id]);
  // A stop that a kill has interrupted goes on, and would end a service after it was found running.
  if (state.at !== 'restoring' && point.state === 'saving') {
    const { containers } = await listProject(engine, project.name);
    const groups = await runningCovered({ engine }, journal.data, changeover);
    if (!newHasStarted(changeover, containers)) await stopInOrder({ engine, log }, groups);
  }
  await startDataServices({ ...context, journal, changeover });
  if (state.at !== 'restoring') return;
  const { containers } = await listProject(engine, project.name);
  const inMemory = containers.filter((each) => point.inMemory.includes(serviceOf(each)) && isUp(each));
  if (inMemory.length === 0) return;
  await engine.call(['restart', ...inMemory.map(({ id }) => id)], { deadlineMs: Number.POSITIVE_INFINITY });
  log.info(`restarted ${and(inMemory.map(({ name }) => name))}, which keeps its data only in memory`);
}

/** The restore point stays, marked as used, until the next update saves data. */
export async function endRollback(journal: Journal): Promise<void> {
  const { point, project } = journal.data;
  if (!point) return;
  await markUsed(pointPlace(point.directory, project)).catch(() => {});
  await journal.note({ point: null });
}
