import { takeBlueprints } from '../../engine/api/blueprint.ts';
import { copiedPaths } from '../../engine/api/copied-files.ts';
import { listProject } from '../../engine/api/project-containers.ts';
import { inspectImages, listContainers } from '../../engine/api/query.ts';
import { Compose, type Model } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { type Container, service } from '../../engine/container.ts';
import { Interrupted } from '../../progress/stops.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { endingOf } from '../log/ending.ts';
import type { RunContext } from '../process/run-context.ts';
import { type Changeover, newHasStarted } from '../state/changeover.ts';
import type { Ending, Journal } from '../state/journal.ts';
import { and, endUpdated } from '../story.ts';
import { awaitWell, changedOthers } from './await-healthy.ts';
import { idsToRun } from './plan-steps.ts';
import { recreate } from './recreate.ts';
import { goBack, markGoingBack } from './restore-instance.ts';

/**
 * The phases `recreate` and `verify`, from the journal alone: a run that goes on after a kill takes the same way. From
 * here on a signal no longer ends the run.
 */
export async function recreateAndVerify(
  context: RunContext,
  journal: Journal,
  changeover: Changeover,
  texts?: ReadonlyMap<string, string>,
): Promise<Ending> {
  const { engine, options, log, cancellation } = context;
  cancellation.close(engine);
  const compose = new Compose(engine, journal.data.project);
  const { waitTimeoutMs } = options;
  try {
    if (log.phase !== 'verify') announce(context, changeover);
    const containers = await recreate({
      engine,
      compose,
      changeover,
      waitTimeoutMs,
      log,
      afterUp: () => noteStart(engine, journal, changeover),
      mayGoBack: () => !journal.data.started,
    });
    await verify(context, journal, changeover, containers);
  } catch (error) {
    await decide(context, journal, changeover, error, texts);
  }
  log.phase = 'done';
  return endUpdated(context, changeover, await freeable(engine, changeover).catch(() => null));
}

function announce({ log }: RunContext, { moved }: Changeover): void {
  log.phase = 'recreate';
  const names = moved.filter(({ follows }) => !follows).map(({ name }) => name);
  const followers = moved.filter(({ follows }) => follows).map(({ name }) => name);
  const stopping = names.length > 1 ? `stopping ${and(names.slice(1))}, then ` : '';
  log.info(`${stopping}replacing ${and([...names, ...followers])}`);
  if (followers.length > 0) {
    log.info(`${and(followers)} live in a namespace of ${names.join(' or ')} and are replaced with it`);
  }
}

/** Says so in the journal, as a container may be gone by the time that somebody asks. */
async function noteStart(engine: Engine, journal: Journal, changeover: Changeover): Promise<void> {
  if (journal.data.started) return;
  const { containers } = await listProject(engine, journal.data.project.name);
  if (newHasStarted(changeover, containers)) await journal.note({ started: true });
}

/** Goes back where nothing of the new version has started; there is no other way back. Always throws. */
async function decide(
  context: RunContext,
  journal: Journal,
  changeover: Changeover,
  error: unknown,
  texts?: ReadonlyMap<string, string>,
): Promise<never> {
  const { engine, log, options, known } = context;
  if (error instanceof Interrupted) throw error;
  const now = await listProject(engine, journal.data.project.name).catch((cause) => {
    if (cause instanceof Interrupted) throw cause;
    throw new UpdateError('engine-lost', (error as Error).message, { cause });
  });
  const isBroken = error instanceof UpdateError && error.outcome === 'broken';
  if (journal.data.started || newHasStarted(changeover, now.containers)) {
    await journal.note({ started: true });
    if (isBroken || !(error instanceof UpdateError)) throw error;
    throw new UpdateError('broken', error.message, { detail: error.detail, cause: error });
  }
  const failure = isBroken
    ? new UpdateError('recreate-failed', error.message, { detail: error.detail, cause: error })
    : error;
  const ending = endingOf(failure, log.phase, known);
  for (const line of ending.lines) log.error(line);
  log.warn('nothing of the new version has started: the old one is brought back');
  await markGoingBack(journal, log, ending);
  await goBack(journal, { engine, log, waitTimeoutMs: options.waitTimeoutMs, ...(texts ? { texts } : {}) });
  if (!(failure instanceof UpdateError)) throw failure;
  throw new UpdateError(failure.code, failure.message, {
    advice: failure.advice,
    told: true,
    cause: failure,
  });
}

/** The old app image, where nothing runs it any more. */
async function freeable(
  engine: Engine,
  { moved, containers }: Changeover,
): Promise<{ reference: string; size: number } | null> {
  const old = containers.findLast((record) => record.service === moved[0]?.name);
  if (!old) return null;
  const [users, [image, named]] = await Promise.all([
    listContainers(engine, { ancestor: [old.imageId] }),
    inspectImages(engine, [old.imageId, old.reference]),
  ]);
  if (users.length > 0 || !image) return null;
  return {
    reference: named?.id === image.id ? old.reference : old.imageId.slice(0, 19),
    size: image.size,
  };
}

async function verify(
  { engine, options, log }: RunContext,
  journal: Journal,
  changeover: Changeover,
  containers: readonly Container[],
): Promise<void> {
  log.phase = 'verify';
  await journal.note({ phase: 'verify' });
  const others = changedOthers(changeover, containers);
  if (others.length > 0)
    log.error(`a bug of the updater: other containers changed, too: ${others.join(', ')}`);
  const well = await awaitWell(engine, idsToRun(changeover, containers), options.waitTimeoutMs, log);
  const wrong = containers.filter((container) => runsAnother(changeover, container));
  if (wrong.length > 0) {
    throw new UpdateError(
      'broken',
      `${wrong.map(({ name }) => name).join(', ')} does not run the image that was pulled`,
    );
  }
  const how = well.map((each) => `${each.service} ${each.how}`).join(', ');
  log.info(`${how}; ${changeover.words.runs}`);
  for (const warning of changeover.words.warnings) log.warn(warning);
}

const runsAnother = ({ moved }: Changeover, container: Container): boolean => {
  const image = moved.find(({ name }) => name === service(container))?.image;
  return image !== null && image !== undefined && image.id !== container.imageId;
};

/** Notes what it takes to go back before anything is replaced, while everything still runs. */
export async function enterRecreate(
  { engine, log }: RunContext,
  journal: Journal,
  changeover: Changeover,
  model: Model,
): Promise<void> {
  const names = new Set(changeover.moved.map(({ name }) => name));
  const moved = changeover.containers.filter((record) => names.has(record.service));
  const blueprints = await takeBlueprints(
    engine,
    moved.map(({ id }) => id),
    new Map(moved.map((record) => [record.id, copiedPaths(model.services[record.service])])),
  );
  for (const { name, lost } of blueprints.filter((each) => each.lost.length > 0)) {
    log.warn(`${lost.join(', ')} in ${name} cannot be kept for a way back: compose put it there`);
  }
  await journal.write({ phase: 'recreate', changeover, blueprints });
}
