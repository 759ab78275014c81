import { listProject, type ProjectContainers } from '../../engine/api/project-containers.ts';
import { watchStops } from '../../engine/api/stops.ts';
import { Compose, type ComposeProject } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container } from '../../engine/container.ts';
import { composeCommand, upCommand } from '../../progress/compose-command.ts';
import { Interrupted } from '../../progress/stops.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { type Ending, endingOf, endWell } from '../log/ending.ts';
import { type LeftAlone, savedMeanwhile, wereSaved } from '../log/ending-facts.ts';
import type { Log } from '../log/log.ts';
import { and, seconds } from '../log/wording.ts';
import type { RunContext } from '../process/run-context.ts';
import { startEarly } from '../process/start-early.ts';
import { type Changeover, newHasStarted } from '../state/changeover.ts';
import { endingFactsOf, type Journal } from '../state/journal.ts';
import { findSaved } from './find-saved.ts';
import { type Freeable, freeable, howToFree } from './freeable.ts';
import { recreate } from './recreate.ts';
import { StartTimes } from './start-times.ts';
import { verify } from './verify.ts';
import { markGoingBack, restoreInstance } from './way-back/restore-instance.ts';

/** What the process has that the journal has not. */
interface HeldFacts {
  /** The old texts of the written files. */
  texts?: ReadonlyMap<string, string>;
  /** The last one at the project, which began at that time. */
  look?: Look;
}

/** A look at a project, and when it began, by `performance.now()`. */
export interface Look {
  found: ProjectContainers;
  at: number;
}

/** Milliseconds. A disk that takes longer for what is written in between is one beside which people have time for much. */
const freshMs = 500;

/**
 * The phases `recreate` and `verify`, from the journal alone: a run that goes on after a kill takes the same way. From
 * here on a signal no longer ends the run.
 */
export async function replaceContainers(
  given: RunContext,
  journal: Journal,
  changeover: Changeover,
  { texts, look }: HeldFacts = {},
): Promise<Ending> {
  given.cancellation.tooLate();
  const context = { ...given, engine: given.engine.uncancellable() };
  const { engine, options, log } = context;
  const { project, phase } = journal.data;
  const stops = watchStops(
    engine,
    changeover.containers.map(({ id }) => id),
  );
  const starts = new StartTimes();
  let freeing: ReturnType<typeof freeable> | null = null;
  try {
    if (phase === 'verify') log.enter('verify');
    else announce(log, changeover);
    const seen = await recreate({
      engine,
      compose: new Compose(engine, project),
      changeover,
      waitTimeoutMs: options.waitTimeoutMs,
      pullTimeoutMs: options.pullTimeoutMs,
      log,
      before: look && performance.now() - look.at < freshMs ? look.found : null,
      checkFiles: (service) => checkFiles(engine, journal, service),
      beforeHook: () => journal.write({ started: true }),
      afterUp: (containers) => noteStart(journal, changeover, containers),
      starts,
      mayGoBack: () => !journal.data.started,
    });
    // Nobody needs the old image any more, and the engine has time while the new one is waited for.
    freeing = startEarly(freeable(engine, changeover));
    await verify(context, journal, changeover, { starts, seen });
  } catch (error) {
    const stopping = stops.underWay();
    await failOrRestore(context, journal, error, { changeover, stopping, ...(texts && { texts }) });
  } finally {
    stops.close();
  }
  const [saved, freed] = await Promise.all([
    findSaved(engine, journal.data).catch(() => null),
    freeing?.catch(() => null) ?? null,
  ]);
  return endUpdated(context, project, changeover, { saved, freed });
}

function announce(log: Log, { moved }: Changeover): void {
  log.enter('recreate');
  const lasting = moved.filter(({ follows, runsOnce }) => !follows && !runsOnce);
  const names = lasting.map(({ name }) => name);
  const workers = lasting.filter(({ isApp }) => !isApp).map(({ name }) => name);
  const migrations = moved.flatMap(({ name, runsOnce }) => (runsOnce ? [name] : []));
  const followers = moved.filter(({ follows }) => follows).map(({ name }) => name);
  const stopping = workers.length > 0 ? `stopping ${and(workers)}, then ` : '';
  const running = migrations.length > 0 ? `running ${and(migrations)}, then ` : '';
  log.info(`${stopping}${running}replacing ${and([...names, ...followers])}`);
  if (followers.length > 0) {
    log.info(`${and(followers)} live in a namespace of ${names.join(' or ')} and are replaced with it`);
  }
}

/** @throws UpdateError recreate-failed where the service would get another image than the run's */
async function checkFiles(engine: Engine, journal: Journal, service: string): Promise<void> {
  const saved = await findSaved(engine, journal.data);
  if (saved === null) return;
  throw new UpdateError(
    'recreate-failed',
    `${wereSaved(saved.paths)}: ${service} is not replaced by what is said there now`,
  );
}

/** Says so in the journal, as a container may be gone by the time that somebody asks. */
async function noteStart(journal: Journal, changeover: Changeover, now: readonly Container[]): Promise<void> {
  if (!journal.data.started && newHasStarted(changeover, now)) await journal.note({ started: true });
}

/** Goes back where nothing of the new version has started; there is no other way back. Always throws. */
async function failOrRestore(
  { engine, log, options }: RunContext,
  journal: Journal,
  error: unknown,
  {
    changeover,
    ...back
  }: { changeover: Changeover; stopping: readonly string[]; texts?: ReadonlyMap<string, string> },
): Promise<never> {
  if (error instanceof Interrupted) throw error;
  const now = await listProject(engine, journal.data.project.name).catch((cause) => {
    if (cause instanceof Interrupted) throw cause;
    throw new UpdateError('engine-lost', (error as Error).message, { cause });
  });
  const isBroken = error instanceof UpdateError && error.outcome === 'broken';
  if (journal.data.started || newHasStarted(changeover, now.containers)) {
    const leftAlone = await findSaved(engine, journal.data);
    await journal.note({ started: true, ...(leftAlone && { leftAlone }) });
    if (isBroken || !(error instanceof UpdateError)) throw error;
    throw new UpdateError('broken', error.message, { detail: error.detail, cause: error });
  }
  const failure = isBroken
    ? new UpdateError('recreate-failed', error.message, { detail: error.detail, cause: error })
    : error;
  const ending = endingOf(failure, { ...endingFactsOf(journal.data), product: options.product });
  for (const line of ending.lines) log.error(line);
  log.warn('nothing of the new version has started: the old one is brought back');
  await markGoingBack(journal, log, ending);
  await restoreInstance(journal, {
    engine,
    log,
    waitTimeoutMs: options.waitTimeoutMs,
    ...back,
  });
  if (!(failure instanceof UpdateError)) throw failure;
  throw new UpdateError(failure.code, failure.message, {
    advice: failure.advice,
    told: true,
    cause: failure,
  });
}

function endUpdated(
  { log, beganAt }: RunContext,
  project: ComposeProject,
  { words, moved }: Changeover,
  { saved, freed }: { saved: LeftAlone | null; freed: Freeable | null },
): Ending {
  log.enter('done');
  for (const name of words.alsoMoved) {
    log.info(`${name} is pinned by the same text: ${upCommand(project, [name])} moves it, too`);
  }
  const { newServices, changedServices = [], restartedByHand = [], runByHand = [] } = words;
  if (runByHand.length > 0) {
    log.warn(
      `left behind and not run, although depends_on says service_completed_successfully: ${and(runByHand)}; ${upCommand(project, runByHand)} does it`,
    );
  }
  if (restartedByHand.length > 0) {
    log.warn(
      `left alone, although depends_on says restart: true: ${and(restartedByHand)}; ${composeCommand(project)} restart ${restartedByHand.join(' ')} does it`,
    );
  }
  if (changedServices.length > 0) {
    log.info(
      `changed in this release and not recreated: ${and(changedServices)}; ${upCommand(project, changedServices)} does it`,
    );
  }
  if (newServices.length > 0) {
    log.info(
      `new in this release and not started: ${and(newServices)}; ${upCommand(project, newServices)} starts ${newServices.length > 1 ? 'them' : 'it'}`,
    );
  }
  const next = saved
    ? savedMeanwhile(saved)
    : freed
      ? howToFree(freed)
      : `docker compose -p ${project.name} ps shows it`;
  const images = new Set(moved.flatMap(({ image }) => (image ? [image.reference] : [])));
  const took = seconds(performance.now() - beganAt);
  return endWell(log, 'updated', `updated ${words.from} → ${words.reached} in ${took}; ${next}`, {
    from: words.from,
    to: words.goal,
    images: [...images],
  });
}
