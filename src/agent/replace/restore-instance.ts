import { listProject } from '../../engine/api/project-containers.ts';
import { stopContainers } from '../../engine/api/query.ts';
import { rebuildContainer } from '../../engine/api/rebuild-container.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { type Container, isUp, serviceOf } from '../../engine/container.ts';
import { restoreFiles } from '../../files/replace-files.ts';
import { Interrupted } from '../../progress/stops.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { Ending } from '../log/ending.ts';
import type { Log } from '../log/log.ts';
import { restoreTags } from '../pull/tags.ts';
import { type Changeover, isBefore, type MovedService, recordsOf } from '../state/changeover.ts';
import type { Journal } from '../state/journal.ts';
import { awaitHealthy } from './await-healthy.ts';
import { stopDeadlineMs } from './recreate.ts';

export interface RestoreContext {
  engine: Engine;
  log: Log;
  waitTimeoutMs: number;
  /** Old texts of the written files, where this process has them still. */
  texts?: ReadonlyMap<string, string>;
  /**
   * The run that is put back was killed: it may have told a container to stop that still runs, and will end any moment.
   * No engine tells of that.
   */
  wasKilled?: boolean;
}

/** That it is not to be left half done, and how the run ends then: not at all where an update begins anew after it. */
export async function markGoingBack(journal: Journal, log: Log, ending: Ending | null): Promise<void> {
  const masked = ending && {
    outcome: ending.outcome,
    exitCode: ending.exitCode,
    message: log.masked(ending.message),
  };
  const failure = await journal.note({ goingBack: { ending: masked } });
  if (failure !== null) log.warn(failure);
}

/**
 * Puts everything back to what the journal says it was: files first, then tags, then containers. What is back already
 * stays, so that it can be done again after a kill.
 * @throws UpdateError files-not-back, not-brought-back
 */
export async function restoreInstance(journal: Journal, context: RestoreContext): Promise<void> {
  const { engine, log } = context;
  const { files, tags, project, changeover } = journal.data;
  for (const path of await restoreFiles(files, context.texts ? { texts: context.texts } : {})) {
    log.warn(`${path} was changed meanwhile: it is left as it is`);
  }
  await restoreTags(engine, project.name, tags, log).catch((error: Error) => {
    if (error instanceof Interrupted) throw error;
    log.warn(
      `the tags could not be put back, the next docker compose up may start the new image: ${error.message}`,
    );
  });
  if (changeover === null) return;
  try {
    await restoreContainers(journal, changeover, context);
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    throw new UpdateError('not-brought-back', error.message, { detail: error.detail, cause: error });
  }
}

/** The containers from before: started where they are still there, else made again, from the image's id. */
async function restoreContainers(
  journal: Journal,
  changeover: Changeover,
  { engine, log, waitTimeoutMs, wasKilled = false }: RestoreContext,
): Promise<void> {
  const { name } = journal.data.project;
  if (wasKilled) await finishStops(engine, name, changeover);
  const { containers, leftovers } = await listProject(engine, name);
  const moved = changeover.moved.map((each) => each.name);
  // Nothing of the new version has started: what is not from before may go, and with it the name that it holds. Never
  // with its volumes: an anonymous one is the old container's.
  const fresh = [...containers, ...leftovers].filter(
    (container) => moved.includes(serviceOf(container)) && !isBefore(changeover, container),
  );
  if (fresh.length > 0) await engine.callOrThrow(['rm', '--force', ...fresh.map(({ id }) => id)]);

  const successors = new Map<string, string>();
  const ids = new Map<string, string[]>();
  // One that cannot come back must not keep the others down.
  const failures: unknown[] = [];
  for (const each of changeover.moved) {
    await restoreService(journal, changeover, each, containers, successors, engine, log).then(
      (running) => ids.set(each.name, running),
      (error) => failures.push(error),
    );
  }
  if (failures.length > 0) throw failures[0];
  await awaitHealthy(engine, new Map([...ids].filter(([, list]) => list.length > 0)), waitTimeoutMs, log);
}

/** Stops what runs of the containers that were to be replaced: then it is known what does. A paused one was told nothing. */
async function finishStops(engine: Engine, project: string, changeover: Changeover): Promise<void> {
  const { containers } = await listProject(engine, project);
  const old = containers
    .filter(({ status }) => status === 'running')
    .filter((container) => changeover.moved.some(({ name }) => name === serviceOf(container)))
    .filter((container) => isBefore(changeover, container));
  await stopContainers(
    engine,
    old.map(({ id }) => id),
    stopDeadlineMs,
  );
}

/** Gives the ids of those that ran and were well. */
async function restoreService(
  journal: Journal,
  changeover: Changeover,
  { name, follows }: MovedService,
  now: readonly Container[],
  successors: Map<string, string>,
  engine: Engine,
  log: Log,
): Promise<string[]> {
  const toRun: string[] = [];
  const running = new Set(now.filter(isUp).map(({ id }) => id));
  for (const record of recordsOf(changeover, name)) {
    let { id } = record;
    const there = now.some((container) => container.id === id);
    // What lived in a namespace of a container that is gone needs the new one's.
    const orphaned = follows && successors.size > 0;
    if (!there || orphaned) {
      const blueprint = journal.data.blueprints.find((each) => each.id === id);
      if (!blueprint)
        throw new UpdateError('not-brought-back', `nobody knows what ${record.name} was made of`);
      if (there) await engine.callOrThrow(['rm', '--force', id]);
      id = await rebuildContainer(engine, blueprint, successors);
      successors.set(record.id, id);
      log.info(`${record.name} is made again from the old image`);
    }
    if (!record.runs) continue;
    if (record.well) toRun.push(id);
    if (id !== record.id || !running.has(id))
      await engine.callOrThrow(['start', id], { deadlineMs: stopDeadlineMs });
  }
  return toRun;
}
