import type { Blueprint } from '../../engine/api/blueprint.ts';
import { connectNetwork } from '../../engine/api/connect-network.ts';
import { listProject } from '../../engine/api/project-containers.ts';
import { inspectContainers, stopContainers } from '../../engine/api/query.ts';
import { rebuildContainer } from '../../engine/api/rebuild-container.ts';
import { Compose } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { restoreFiles } from '../../files/restore-files.ts';
import { Interrupted } from '../../progress/stops.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { Ending } from '../log/ending.ts';
import { withHeartbeat } from '../log/heartbeat.ts';
import type { Log } from '../log/log.ts';
import { restoreTags } from '../pull/tags.ts';
import type { Changeover, ContainerRecord } from '../state/changeover.ts';
import type { Journal, JournalData } from '../state/journal.ts';
import { awaitHealthy } from './await-healthy.ts';
import { findLosses } from './find-losses.ts';
import { mayBeStopping, planRestore, type RestoreStep, type RestoreStepOf } from './plan-restore.ts';

/** An engine that is busy takes its time. */
const startDeadlineMs = 900_000;

export interface RestoreContext {
  engine: Engine;
  log: Log;
  waitTimeoutMs: number;
  /** Old texts of the written files, where this process has them still. */
  texts?: ReadonlyMap<string, string>;
  /**
   * The run that is put back was killed: it may have told any container to stop that still runs, and will end any moment.
   * No engine tells of that.
   */
  wasKilled?: boolean;
  /** Ids of containers that the engine is stopping still; without it none. */
  stopping?: readonly string[];
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
 * stays, so that it can be done again after a kill. No signal ends it.
 * @throws UpdateError files-not-back, not-brought-back
 */
export async function restoreInstance(journal: Journal, given: RestoreContext): Promise<void> {
  const context = { ...given, engine: given.engine.uncancellable() };
  const { engine, log } = context;
  const { files, tags, project, changeover } = journal.data;
  const leftAlone = await restoreFiles(files, context.texts ? { texts: context.texts } : {});
  for (const path of leftAlone) log.warn(`${path} was changed meanwhile: it is left as it is`);
  await restoreTags(engine, project.name, tags, log).catch((error: Error) => {
    if (error instanceof Interrupted) throw error;
    log.warn(
      `the tags could not be put back, the next docker compose up may start the new image: ${error.message}`,
    );
  });
  if (leftAlone.length > 0) {
    const next = await nextImages(engine, journal.data);
    await journal.note({ leftAlone: { paths: leftAlone, next } });
  }
  if (changeover === null) return;
  try {
    await restoreContainers(journal, changeover, context);
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    throw new UpdateError('not-brought-back', error.message, { detail: error.detail, cause: error });
  }
}

/** What the next `up` starts with the files as they are now; null where compose rejects them. */
async function nextImages(engine: Engine, { project, services }: JournalData): Promise<string[] | null> {
  try {
    const model = await new Compose(engine, project).config();
    return [...new Set(services.flatMap((name) => model.services[name]?.image ?? []))];
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    return null;
  }
}

/** The containers from before: started where they are still there, else made again, from the image's id. */
async function restoreContainers(
  journal: Journal,
  changeover: Changeover,
  context: RestoreContext,
): Promise<void> {
  const { engine, wasKilled = false, stopping = [] } = context;
  const { project, blueprints } = journal.data;
  const list = () => listProject(engine, project.name);
  // What is being stopped would end after it was found running: a second stop ends with the first one.
  const ending = mayBeStopping(changeover, await list(), { wasKilled, heard: stopping });
  const stopped = stopContainers(
    engine,
    ending.map(({ id }) => id),
  );
  const names = ending.map(({ name }) => name).join(', ');
  await withHeartbeat(context.log, `waiting for ${names} to stop, as it was told to`, stopped);
  const { containers, leftovers } = await list();
  const work = { ...context, journal, successors: new Map<string, string>() };
  const steps = planRestore(changeover, {
    containers: [...containers, ...leftovers],
    blueprints,
  });
  // A service that cannot come back must not keep the others down.
  const failures = new Map<string, unknown>();
  for (const step of steps) {
    const service = 'service' in step ? step.service : null;
    if (service === null) {
      if (step.kind !== 'remove-new' && failures.size > 0) break;
      await take(step, work);
    } else if (!failures.has(service)) {
      await take(step, work).catch((error) => failures.set(service, error));
    }
  }
  const [failure] = failures.values();
  if (failure !== undefined) throw failure;
}

interface RestoreWork extends RestoreContext {
  journal: Journal;
  /** Ids of the containers that were made again, by those of the containers from before. */
  successors: Map<string, string>;
}

type Executors = {
  [K in RestoreStep['kind']]: (step: RestoreStepOf<K>, work: RestoreWork) => Promise<unknown>;
};

const executors: Executors = {
  // `rm` without --volumes: the new container shares its anonymous volumes with the old one.
  'remove-new': ({ containers }, { engine }) =>
    engine.callOrThrow(['rm', '--force', ...containers.map(({ id }) => id)]),
  'remove-orphan': ({ record }, { engine }) => engine.callOrThrow(['rm', '--force', record.id]),
  rebuild: ({ record }, work) => rebuild(record, work),
  'give-up': async ({ record }) => {
    throw unknown(record);
  },
  connect: async ({ record, networks }, work) => {
    const { engine, log } = work;
    const blueprint = blueprintOf(record, work);
    for (const network of networks) {
      const { status } = await connectNetwork(engine, network, record.id, blueprint.networks[network] ?? {});
      if (status !== 200) return remake(record, work);
      log.info(`${record.name} is in network ${network} again`);
    }
  },
  start: async ({ record }, work) => {
    const start = () =>
      work.engine.callOrThrow(['start', idNow(record, work)], { deadlineMs: startDeadlineMs });
    await start().catch(async (error: unknown) => {
      // A network that was removed and made anew has another id than the container knows.
      const isLost = error instanceof UpdateError && /network \S+ not found/.test(error.detail.join('\n'));
      if (!isLost || work.successors.has(record.id)) throw error;
      await remake(record, work);
      await start();
    });
  },
  stop: ({ record }, { engine }) => stopContainers(engine, [record.id]),
  'await-healthy': ({ records }, work) => {
    const ids = [...records].map(
      ([service, list]) => [service, list.map((record) => idNow(record, work))] as const,
    );
    const [app] = work.journal.data.services;
    return awaitHealthy(work, new Map(ids), work.waitTimeoutMs, app);
  },
  compare: async ({ records }, work) => {
    const ids = records.map((record) => idNow(record, work));
    const found = await inspectContainers(work.engine, ids);
    const losses = records.flatMap((record, index) => {
      const blueprint = work.journal.data.blueprints.find(({ id }) => id === record.id);
      const now = found.find(({ id }) => id === ids[index]);
      return findLosses(record, blueprint, now).map((loss) => `${record.name} ${loss}`);
    });
    if (losses.length > 0) {
      throw new UpdateError('not-brought-back', `not what it was before: ${losses.join(', ')}`);
    }
  },
};

const take = <K extends RestoreStep['kind']>(step: RestoreStepOf<K>, work: RestoreWork): Promise<unknown> =>
  (executors[step.kind] as (step: RestoreStepOf<K>, work: RestoreWork) => Promise<unknown>)(step, work);

/** The container from before, or the one that was made again in its place. */
const idNow = ({ id }: ContainerRecord, { successors }: RestoreWork): string => successors.get(id) ?? id;

function blueprintOf(record: ContainerRecord, { journal }: RestoreWork): Blueprint {
  const blueprint = journal.data.blueprints.find(({ id }) => id === record.id);
  if (!blueprint) throw unknown(record);
  return blueprint;
}

async function rebuild(record: ContainerRecord, work: RestoreWork): Promise<void> {
  const { engine, successors, log } = work;
  successors.set(record.id, await rebuildContainer(engine, blueprintOf(record, work), successors));
  log.info(`${record.name} is made again from the old image`);
}

/** Of one that is there and cannot be mended. Its volumes stay. */
async function remake(record: ContainerRecord, work: RestoreWork): Promise<void> {
  await work.engine.callOrThrow(['rm', '--force', record.id]);
  await rebuild(record, work);
}

const unknown = ({ name }: ContainerRecord): UpdateError =>
  new UpdateError('not-brought-back', `nobody knows what ${name} was made of`);
