import { watchStops } from '../../../engine/api/events.ts';
import { listProject } from '../../../engine/api/project-containers.ts';
import { restoreFiles } from '../../../files/restore-files.ts';
import { Cancelled, Interrupted } from '../../../progress/stops.ts';
import { UpdateError } from '../../../progress/update-error.ts';
import { checkPoint } from '../../data/keep-point.ts';
import { clockTime, readPoint } from '../../data/point.ts';
import { type Ending, endingOf, keptEnding } from '../../log/ending.ts';
import type { EndingFacts } from '../../log/ending-facts.ts';
import type { Log } from '../../log/log.ts';
import { seconds } from '../../log/wording.ts';
import type { RunContext } from '../../process/run-context.ts';
import { restoreTags } from '../../pull/tags.ts';
import { type Changeover, newHasStarted } from '../../state/changeover.ts';
import { endingFactsOf, type Journal } from '../../state/journal.ts';
import { findLeftAlone, findSaved } from '../find-saved.ts';
import { type Replacement, replacementOf } from '../replacement.ts';
import type { Look } from '../same-containers.ts';
import { dataWork, forgoPoint, pointOf, unsave } from '../save.ts';
import type { StopsUnderWay } from './plan-restore.ts';
import { restoreContainers } from './restore-containers.ts';
import { beginBack, endBack, keptBeside, reopenData, restoreData } from './restore-data.ts';

/** Old texts of files that a run writes, by path. */
export type OldTexts = ReadonlyMap<string, string>;

/** What this process knows of the run beside its journal. */
interface BesideJournal extends StopsUnderWay {
  texts?: OldTexts | undefined;
}

/**
 * A run that ends before `recreate` has files and tags to put back. `texts` are the old ones of the written files. Always
 * throws: why it ended, or `Interrupted`.
 */
export async function undoBeforeRecreate(
  context: RunContext,
  journal: Journal,
  error: unknown,
  { facts, texts }: { facts: EndingFacts; texts?: OldTexts | undefined },
): Promise<never> {
  if (error instanceof Interrupted) throw error;
  const { engine, log, options, cancellation } = context;
  const isThere = await engine.answers();
  // An engine that has sent a signal and no longer answers is shutting down; it starts this container again afterwards.
  if (error instanceof Cancelled && !isThere) throw new Interrupted();
  // Where the engine does not answer, the journal is left without an end: a restarted container begins the update anew.
  if (isThere) {
    const ending = endingOf(error, { ...facts, product: options.product }, cancellation.signalNumber);
    await markGoingBack(journal, log, ending);
  }
  await restoreInstance(context, journal, { texts });
  throw error;
}

/** What is to be replaced; of a run that goes on after a kill the journal alone knows it. */
export interface PlannedReplacement {
  journal: Journal;
  changeover: Changeover;
  /** The last look at the project before it. */
  look?: Look;
  texts?: OldTexts;
}

/**
 * Does what replaces containers, and goes back where that fails and nothing of the new version has started. From here on a
 * signal no longer ends the run.
 */
export async function replacing<T>(
  context: RunContext,
  { journal, changeover, texts }: PlannedReplacement,
  replace: (work: Replacement) => Promise<T>,
): Promise<T> {
  context.cancellation.tooLate();
  const work = replacementOf(context, journal, changeover);
  const stops = watchStops(
    work.engine,
    changeover.containers.map(({ id }) => id),
  );
  try {
    return await replace(work);
  } catch (error) {
    return await backOrBroken(work, error, { stopping: stops.underWay(), texts });
  } finally {
    stops.close();
  }
}

/** Goes back where nothing of the new version has started, or with the data of before where they were kept. Always throws. */
async function backOrBroken(work: Replacement, error: unknown, beside: BesideJournal): Promise<never> {
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
    // What somebody has started before all data were kept has no point to go back to.
    if (journal.data.phase === 'save') await forgoPoint(work, journal, changeover);
    else if (journal.data.point && !options.stay) return backWithData(work, error);
    if (isBroken) throw error;
    throw new UpdateError('broken', error.message, { detail: error.detail, cause: error });
  }
  const failure = isBroken
    ? new UpdateError('recreate-failed', error.message, { detail: error.detail, cause: error })
    : error;
  const ending = endingOf(failure, { ...endingFactsOf(journal.data), product: options.product });
  for (const line of ending.lines) log.error(line);
  log.warn('nothing of the new version has started: the old one is brought back');
  await markGoingBack(journal, log, ending);
  await restoreInstance(work, journal, beside);
  if (!(failure instanceof UpdateError)) throw failure;
  throw new UpdateError(failure.code, failure.message, {
    advice: failure.advice,
    isLogged: true,
    cause: failure,
  });
}

/** The new version has started and is not well: everything is as before it in the end, the data too. Always throws. */
async function backWithData(work: Replacement, error: UpdateError): Promise<never> {
  const { log, options, journal, changeover, beganAt } = work;
  const { from, goal } = changeover.words;
  const facts = { ...endingFactsOf(journal.data), product: options.product };
  for (const line of endingOf(error, facts).lines) log.error(line);
  const giveUp = (cause: unknown): never => {
    if (cause instanceof Interrupted) throw cause;
    log.error(`it cannot be gone back: ${(cause as Error).message}`);
    throw new UpdateError('broken', error.message, { detail: error.detail, isLogged: true, cause });
  };
  const found = await pointOf(journal).catch(giveUp);
  if (found?.point.at == null) return giveUp(new Error('the record of the restore point is gone'));
  const at = clockTime(found.point.at);
  log.warn(`${goal} did not come up: going back to ${from} with its data of ${at}`);
  const kept = keptBeside(found.place, journal.data.project);
  const what = `what ${goal} did in ${seconds(performance.now() - beganAt)} is`;
  const went = (isKept: boolean) =>
    new UpdateError('went-back', error.message, {
      state: `${from} runs again with its data of ${at}; ${what} ${isKept ? `kept as ${kept.host}` : 'not kept: there was no room'}`,
      isLogged: true,
      fields: { wentBack: { version: from, at: found.point.at, kept: isKept ? kept.host : null } },
      cause: error,
    });
  const ending = endingOf(went(true), facts);
  const doors = await dataWork(work, journal, changeover.moved).catch(giveUp);
  await checkPoint(found.point, found.place, doors).catch(giveUp);
  await beginBack(work, journal, { ...found, kept }, changeover, ending).catch(giveUp);
  await restoreInstance(work, journal, {});
  throw went((await readPoint(kept)) !== null);
}

/** Notes that everything is being put back, and how the run ends then; null where an update begins anew after it. */
export async function markGoingBack(journal: Journal, log: Log, ending: Ending | null): Promise<void> {
  const failure = await journal.note({ goingBack: { ending: ending && keptEnding(log, ending) } });
  if (failure !== null) log.warn(failure);
}

/**
 * Puts everything back to what the journal says it was: data first where they were touched, then files, tags and
 * containers. What is back already stays, so that it can be done again after a kill. No signal ends it.
 * @throws UpdateError data-not-back, files-not-back, not-brought-back
 */
export async function restoreInstance(
  given: RunContext,
  journal: Journal,
  { texts = new Map(), ...stops }: BesideJournal,
): Promise<void> {
  const context = { ...given, engine: given.engine.uncancellable() };
  const { engine, log } = context;
  await restoreData(context, journal);
  const { files, tags, project, changeover, phase } = journal.data;
  const leftAlone = await restoreFiles(files, { texts });
  // Until then somebody's `up` has started the new version, on the data of the old one.
  await restoreData(context, journal);
  for (const path of leftAlone) log.warn(`${path} was changed meanwhile: it is left as it is`);
  await restoreTags(engine, project.name, tags, log).catch((error: Error) => {
    if (error instanceof Interrupted) throw error;
    log.warn(
      `the tags could not be put back, the next docker compose up may start the new image: ${error.message}`,
    );
  });
  if (leftAlone.length > 0) {
    await journal.note({ leftAlone: await findLeftAlone(engine, journal.data, leftAlone) });
  }
  if (changeover === null) return;
  const isOfPoint = phase === 'restore';
  try {
    if (isOfPoint) await reopenData(context, journal, changeover);
    else await unsave(context, journal, changeover);
    await restoreContainers(context, journal, changeover, stops);
    if (isOfPoint) await endBack(context, journal, changeover);
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    const state = isOfPoint
      ? { state: `data and files are those of ${journal.data.from}, which could not be started` }
      : {};
    throw new UpdateError('not-brought-back', error.message, {
      ...state,
      detail: error.detail,
      cause: error,
    });
  }
}
