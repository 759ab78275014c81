import { restoreFiles } from '../../../../core/files/restore-files.ts';
import { Cancelled, Interrupted } from '../../../../core/progress/stops.ts';
import { UpdateError } from '../../../../core/progress/update-error.ts';
import { watchStops } from '../../../../engine/api/events.ts';
import { listProject } from '../../../../engine/api/project-containers.ts';
import { missingVolumes } from '../../../data/copies.ts';
import { pointPlace, readPoint, savedAt } from '../../../data/point.ts';
import type { PointRecord } from '../../../data/point-record.ts';
import { type Ending, endingOf, keptEnding } from '../../../run/log/ending.ts';
import type { EndingFacts } from '../../../run/log/ending-facts.ts';
import type { Log } from '../../../run/log/log.ts';
import type { RunContext } from '../../../run/run-context.ts';
import { newHasStarted } from '../../../run/state/changeover.ts';
import { endingFactsOf, type Journal } from '../../../run/state/journal.ts';
import { isBeforeReplacing, stageOf } from '../../../run/state/run-state.ts';
import { restoreTags } from '../../pull/tags.ts';
import { dataDoors, writePointState } from '../data-services.ts';
import { findLeftAlone, findSaved } from '../find-saved.ts';
import type { Replacement } from '../replacement.ts';
import { dropPoint } from '../save.ts';
import type { StopsUnderWay } from './plan-restore.ts';
import { restoreContainers } from './restore-containers.ts';
import {
  beginRollback,
  checkPoint,
  completePoint,
  endRollback,
  restoreData,
  standStill,
  startDataAgain,
} from './restore-data.ts';

/** Old texts of files that a run writes, by path. */
export type OldTexts = ReadonlyMap<string, string>;

/** Facts that this process has in addition to the journal. */
export interface BesideJournal extends StopsUnderWay {
  texts?: OldTexts | undefined;
  /** Of the restore point that this process has made. */
  record?: PointRecord | null;
}

/**
 * Restores files and tags if a run ends before `recreate`.
 * `texts`: the original contents of the written files.
 * Always throws: the reason why the run ended, or Interrupted.
 */
export async function undoBeforeRecreate(
  context: RunContext,
  journal: Journal,
  cause: unknown,
  { facts, texts }: { facts: EndingFacts; texts?: OldTexts | undefined },
): Promise<never> {
  if (cause instanceof Interrupted) throw cause;
  const error = unlessStarted(cause);
  const { engine, log, options, cancellation } = context;
  const isThere = await engine.answers();
  const lasting = { ...context, engine: engine.uncancellable() };
  const failure = isThere && !options.noRollback ? unlessCancelled(error) : null;
  if (failure instanceof UpdateError && (await isOverSaved(lasting, journal)))
    return rollBack(lasting, { journal, hashing: null }, failure);
  // An engine that has sent a signal and no longer answers is shutting down; it starts this container again afterwards.
  if (error instanceof Cancelled && !isThere) throw new Interrupted();
  // If the engine does not answer, the journal gets no ending, so a restarted container starts the update over.
  if (isThere) {
    const ending = endingOf(error, { ...facts, product: options.product }, cancellation.signalNumber);
    await markRollback(journal, log, ending);
  }
  const { isOvertaken } = await restoreInstance(context, journal, { texts });
  if (!isOvertaken) throw error;
  const message = 'another version was started while the data was being saved';
  throw new UpdateError('containers-changed', message, { cause: error });
}

/** A data service did not start after its data was saved. The second try, on the way out, decides whether it is down. */
const unlessStarted = (error: unknown): unknown =>
  error instanceof UpdateError && error.code === 'containers-not-restored'
    ? new UpdateError('save-failed', error.message, { detail: error.detail, cause: error })
    : error;

/** A run that is cancelled does not leave another version on data that is saved. */
const unlessCancelled = (error: unknown): unknown =>
  error instanceof Cancelled
    ? new UpdateError('containers-changed', 'the update was cancelled after another version was started')
    : error;

/** The new version was started on data that is saved: by `docker compose up`, from files that were just written. */
async function isOverSaved({ engine }: RunContext, { data }: Journal): Promise<boolean> {
  if (data.changeover === null || data.point?.state !== 'saved') return false;
  const { containers } = await listProject(engine, data.project.name);
  return newHasStarted(data.changeover, containers);
}

/**
 * Replaces the containers, and rolls back if that fails before the new version has started. From here on, a signal no
 * longer ends the run.
 */
export async function replacing(
  work: Replacement,
  beside: BesideJournal,
  replace: () => Promise<Ending>,
): Promise<Ending> {
  work.cancellation.tooLate();
  const stops = watchStops(
    work.engine,
    work.changeover.containers.map(({ id }) => id),
  );
  try {
    return await replace();
  } catch (error) {
    return await rollBackOrFail(work, error, { ...beside, stopping: stops.underWay() });
  } finally {
    stops.close();
  }
}

/** Rolls back if the new version has not started, or if its data was saved. Always throws. */
async function rollBackOrFail(work: Replacement, error: unknown, beside: BesideJournal): Promise<never> {
  if (error instanceof Interrupted) throw error;
  const { engine, log, options, journal, changeover } = work;
  const now = await listProject(engine, journal.data.project.name).catch((cause) => {
    if (cause instanceof Interrupted) throw cause;
    throw new UpdateError('engine-lost', (error as Error).message, { cause });
  });
  const isBroken = error instanceof UpdateError && error.outcome === 'broken';
  if (journal.data.started || newHasStarted(changeover, now.containers)) {
    const leftAlone = await findSaved(engine, journal.data);
    await journal.note({ started: true, ...(leftAlone && { leftAlone }) });
    if (!(error instanceof UpdateError)) throw error;
    if (journal.data.point?.state === 'saved' && !options.noRollback)
      return rollBack(work, { journal, hashing: beside.record ?? null }, error);
    if (isBroken) throw error;
    throw new UpdateError('broken', error.message, { detail: error.detail, cause: error });
  }
  beside.record?.cancel();
  const failure = isBroken
    ? new UpdateError('recreate-failed', error.message, { detail: error.detail, cause: error })
    : error;
  const ending = endingOf(failure, { ...endingFactsOf(journal.data), product: options.product });
  for (const line of ending.lines) log.error(line);
  log.warn('no container of the new version has started; restoring the old version');
  await markRollback(journal, log, ending);
  await restoreInstance(work, journal, beside);
  if (!(failure instanceof UpdateError)) throw failure;
  throw new UpdateError(failure.code, failure.message, {
    advice: failure.advice,
    isLogged: true,
    cause: failure,
  });
}

/**
 * Something of the new version has started and the run cannot end `updated`: version, files and data are restored. Always
 * throws.
 */
async function rollBack(
  context: RunContext,
  { journal, hashing }: { journal: Journal; hashing: PointRecord | null },
  error: UpdateError,
): Promise<never> {
  const { log, options, cancellation } = context;
  cancellation.tooLate();
  const { from } = journal.data;
  const facts = { ...endingFactsOf(journal.data), product: options.product };
  for (const line of endingOf(error, facts).lines) log.error(line);
  const giveUp = (cause: unknown): never => {
    if (cause instanceof Interrupted) throw cause;
    log.error(`cannot roll back: ${(cause as Error).message}`);
    throw new UpdateError('broken', error.message, { detail: error.detail, isLogged: true, cause });
  };
  await hashing?.hashed(await dataDoors(context, journal)).catch(() => {});
  const found = await completePoint(context, journal).catch(giveUp);
  if (found === null) return giveUp(new Error("the restore point's record is missing"));
  const { point } = found.record;
  log.warn(`${point.next} failed; rolling back to ${from} with the data saved at ${savedAt(point)}`);
  await checkPoint(found.doors, found.record).catch(giveUp);
  const rolledBack = new UpdateError('rolled-back', error.message, {
    state: `${from} is running again with the data saved at ${savedAt(point)}`,
    isLogged: true,
    fields: { rolledBack: { version: from, at: point.at } },
    cause: error,
  });
  const target = { record: found.record, back: journal.data };
  await beginRollback(context, journal, target, endingOf(rolledBack, facts)).catch(giveUp);
  await restoreInstance(context, journal, {});
  throw rolledBack;
}

/** Records the rollback and the ending of the run afterwards; null if an update starts over after it. */
export async function markRollback(journal: Journal, log: Log, ending: Ending | null): Promise<void> {
  const stage = stageOf(journal.data.state);
  if (stage === null || stage === 'restoring') return;
  const state = { at: 'rolling-back', from: stage, ending: ending && keptEnding(log, ending) } as const;
  const failure = await journal.note({ state });
  if (failure !== null) log.warn(failure);
}

/**
 * Restores everything to what the journal says it was: data first if it was touched, then files, tags and containers. What
 * is restored already stays, so that it can be repeated after a kill. No signal ends it.
 * @throws UpdateError data-not-restored, files-not-restored, containers-not-restored
 */
export async function restoreInstance(
  given: RunContext,
  journal: Journal,
  { texts = new Map(), ...stops }: BesideJournal,
): Promise<{ isOvertaken: boolean }> {
  const context = { ...given, engine: given.engine.uncancellable() };
  let wasStarted = true;
  for (let round = 1; ; round++) {
    await restoreData(context, journal);
    await restoreFilesAndTags(context, journal, texts);
    if (!(await isOvertaken(context, journal, round))) wasStarted = await startAgain(context, journal, stops);
    if (!(await isOvertaken(context, journal, round))) break;
    await writePointState(journal, { state: 'saved' });
  }
  await endPoint(context, journal, wasStarted);
  return { isOvertaken: !wasStarted };
}

/** How often a new version that was started during the restore is removed. */
const rounds = 3;

/** Whether the new version was started on the data that a rollback has restored. @throws UpdateError data-not-restored */
async function isOvertaken(context: RunContext, journal: Journal, round: number): Promise<boolean> {
  const { state, changeover, project } = journal.data;
  if (state.at !== 'restoring' || changeover === null || !journal.data.point) return false;
  const { containers } = await listProject(context.engine, project.name);
  if (!newHasStarted(changeover, containers)) return false;
  if (round >= rounds) {
    // The next run restores the data again.
    await writePointState(journal, { state: 'saved' });
    await standStill(context, journal);
    throw new UpdateError(
      'data-not-restored',
      'the new version was started repeatedly while the old version was being restored',
    );
  }
  context.log.warn('the new version was started while the old version was being restored; restoring again');
  return true;
}

async function restoreFilesAndTags(
  { engine, log }: RunContext,
  journal: Journal,
  texts: OldTexts,
): Promise<void> {
  const { files, tags, project } = journal.data;
  const leftAlone = await restoreFiles(files, { texts });
  for (const path of leftAlone) log.warn(`${path} was edited during the update and is left unchanged`);
  await restoreTags(engine, project.name, tags, log).catch((error: Error) => {
    if (error instanceof Interrupted) throw error;
    log.warn(
      `the image tags could not be restored, so the next docker compose up may start the new image: ${error.message}`,
    );
  });
  if (leftAlone.length > 0) {
    await journal.note({ leftAlone: await findLeftAlone(engine, journal.data, leftAlone) });
  }
}

/**
 * Starts everything that was running. False if another version was started before `recreate`: the old one is not started on
 * data that it may have changed.
 */
export async function startAgain(
  context: RunContext,
  journal: Journal,
  stops: StopsUnderWay,
): Promise<boolean> {
  const { changeover, state, project, started, from } = journal.data;
  if (changeover === null) return true;
  try {
    await startDataAgain(context, journal, changeover);
    // Looked at now: an `up` that waited for a data service may have started another version just then.
    const { containers } = await listProject(context.engine, project.name);
    if (isBeforeReplacing(state) && (started || newHasStarted(changeover, containers))) {
      context.log.warn(`another version was started in the meantime, so ${from} will not be started again`);
      return false;
    }
    await restoreContainers(context, journal, changeover, stops);
    return true;
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    const told = state.at === 'restoring' && {
      state: `the data and files of ${from} have been restored, but ${from} could not be started`,
    };
    throw new UpdateError('containers-not-restored', error.message, {
      ...told,
      detail: error.detail,
      cause: error,
    });
  }
}

/** A restore point that was not needed is removed, unless it is the only copy of something. */
async function endPoint(context: RunContext, journal: Journal, wasStarted: boolean): Promise<void> {
  const { point, state, project } = journal.data;
  if (!point) return;
  if (state.at === 'restoring') return endRollback(journal);
  const found = await readPoint(pointPlace(point.directory, project)).catch(() => null);
  const gone = found === null ? [] : await missingVolumes(context, found.mounts);
  const isOnly = gone.length > 0 || (point.state === 'saved' && !wasStarted);
  if (!isOnly) return dropPoint(context, journal);
  const why = gone[0]
    ? `the volume of ${gone[0].where} has been removed`
    : 'another version has changed the data';
  context.log.warn(`${why}; the data from before the update is kept in ${point.directory}`);
  await journal.note({ point: null });
}
