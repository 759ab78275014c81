import { setTimeout as sleep } from 'node:timers/promises';
import { Interrupted } from '../../../../core/progress/stops.ts';
import { UpdateError } from '../../../../core/progress/update-error.ts';
import type { Blueprint } from '../../../../engine/api/blueprint.ts';
import { listProject } from '../../../../engine/api/project-containers.ts';
import { inspectContainers } from '../../../../engine/api/query.ts';
import { connectNetwork, rebuildContainer } from '../../../../engine/api/rebuild-container.ts';
import { type Container, serviceOf } from '../../../../engine/container.ts';
import { and } from '../../../run/log/wording.ts';
import type { RunContext } from '../../../run/run-context.ts';
import {
  type Changeover,
  type ContainerRecord,
  newHasStarted,
  recordsOf,
} from '../../../run/state/changeover.ts';
import type { Journal } from '../../../run/state/journal.ts';
import { awaitHealthy } from '../await-healthy.ts';
import { stopAll } from '../containers.ts';
import { ensureNetworks } from '../data-services.ts';
import { checkRights } from './check-rights.ts';
import { findLosses } from './find-losses.ts';
import { mayBeStopping, planRestore, type RestoreStep, type StopsUnderWay } from './plan-restore.ts';

/** Long, as a busy engine takes its time to start a container. */
const startDeadlineMs = 900_000;
/** How often containers that somebody removes meanwhile are brought back. */
const tries = 4;
const pauseMs = 500;

/** The containers from before: started where they are still there, else made again, from the image's id. */
export async function restoreContainers(
  context: RunContext,
  journal: Journal,
  changeover: Changeover,
  stops: StopsUnderWay,
): Promise<void> {
  const now = await listProject(context.engine, journal.data.project.name);
  // What is being stopped would end after it was found running: a second stop ends with the first one.
  const ending = mayBeStopping(changeover, now, stops);
  await stopAll(context, ending, ' (already requested)');
  const work: RestoreWork = { ...context, journal, changeover, successors: new Map(), agreed: new Set() };
  for (let attempt = 1; ; attempt++) {
    const before = await containersNow(work);
    // Not removed unnoticed: the data has to be restored once more.
    if (journal.data.state.at === 'restoring' && newHasStarted(changeover, before)) return;
    const failure = await restoreAll(before, work);
    if (failure === null) return;
    if (failure instanceof Interrupted || attempt === tries) throw failure;
    // Somebody's clean-up (`docker system prune`) takes whatever is stopped at that moment. It can be made again.
    const removed = await findRemoved(before, work);
    if (removed.length === 0) throw failure;
    context.log.warn(`another process removed ${and(removed)} during the rollback; trying again`);
    await sleep(pauseMs * attempt);
  }
}

/** Takes the way back once. Gives what failed, null where all are back. */
async function restoreAll(containers: readonly Container[], work: RestoreWork): Promise<unknown> {
  const { changeover, journal } = work;
  // A service that cannot come back must not keep the others down.
  const failures = new Map<string | null, unknown>();
  for (const step of planRestore(changeover, { containers, blueprints: journal.data.blueprints })) {
    const service = 'service' in step ? step.service : null;
    if (service === null && failures.size > 0) break;
    if (failures.has(null) || failures.has(service)) continue;
    const execute = executors[step.kind] as Execute<RestoreStep>;
    await execute(step, work).catch((error) => failures.set(service, error));
  }
  const [failure = null] = failures.values();
  return failure;
}

/** The containers of the project; a container that was made again has the id of the one from before. */
async function containersNow({ engine, journal, successors }: RestoreWork): Promise<Container[]> {
  const { containers, leftovers } = await listProject(engine, journal.data.project.name);
  const stands = new Map([...successors].map(([old, id]) => [id, old] as const));
  return [...containers, ...leftovers].map((container) => ({
    ...container,
    id: stands.get(container.id) ?? container.id,
  }));
}

/** Names of containers that were there `before`, or were made again since, and are gone or about to go. */
async function findRemoved(before: readonly Container[], work: RestoreWork): Promise<string[]> {
  const { changeover, successors } = work;
  const now = await containersNow(work);
  const stays = ({ id }: ContainerRecord) =>
    now.some((container) => container.id === id && !['removing', 'dead'].includes(container.status));
  return changeover.moved
    .flatMap(({ name }) => recordsOf(changeover, name))
    .filter((record) => before.some(({ id }) => id === record.id) || successors.has(record.id))
    .filter((record) => !stays(record))
    .map(({ name }) => name);
}

interface RestoreWork extends RunContext {
  journal: Journal;
  changeover: Changeover;
  /** Ids of the containers that were made again, by those of the containers from before. */
  successors: Map<string, string>;
  /** Ids of containers whose rights were checked, so that they may be made again from the journal. */
  agreed: Set<string>;
}

type Execute<S> = (step: S, work: RestoreWork) => Promise<unknown>;
type Executors = { [K in RestoreStep['kind']]: Execute<Extract<RestoreStep, { kind: K }>> };

const executors: Executors = {
  'remove-new': ({ containers }, work) => remove(containers, work),
  'remove-orphan': async ({ record }, work) => {
    await agree(record, work);
    await remove([standIn(record, work)], work);
  },
  rebuild: ({ record }, work) => rebuild(record, work),
  'give-up': ({ record }) => Promise.reject(unknown(record)),
  connect: async ({ record, networks }, work) => {
    const { networks: endpoints } = blueprintOf(record, work);
    for (const network of networks) {
      const endpoint = endpoints[network] ?? {};
      const { status } = await connectNetwork(work.engine, network, idNow(record, work), endpoint);
      if (status !== 200) return remake(record, work);
      work.log.info(`reconnected ${record.name} to network ${network}`);
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
  stop: ({ record }, work) => stopAll(work, [standIn(record, work)]),
  'await-healthy': ({ records }, work) => {
    const [app] = work.journal.data.services;
    const containers = records.map((record) => standIn(record, work));
    return awaitHealthy(work, containers, app);
  },
  compare: async ({ records }, work) => {
    const ids = records.map((record) => idNow(record, work));
    const found = await inspectContainers(work.engine, ids);
    const losses = records.flatMap((record, index) => {
      const blueprint = work.journal.data.blueprints.find(({ id }) => id === record.id);
      const now = found.find(({ id }) => id === ids[index]);
      return findLosses(record, blueprint, now);
    });
    if (losses.length > 0) {
      throw new UpdateError(
        'containers-not-restored',
        `containers differ from their state before the update: ${losses.join(', ')}`,
      );
    }
  },
};

/** The container from before, or the one that was made again in its place. */
const idNow = ({ id }: ContainerRecord, { successors }: RestoreWork): string => successors.get(id) ?? id;

const standIn = (record: ContainerRecord, work: RestoreWork) => ({ ...record, id: idNow(record, work) });

function blueprintOf(record: ContainerRecord, { journal }: RestoreWork): Blueprint {
  const blueprint = journal.data.blueprints.find(({ id }) => id === record.id);
  if (!blueprint) throw unknown(record);
  return blueprint;
}

async function rebuild(record: ContainerRecord, work: RestoreWork): Promise<void> {
  const { engine, successors, log } = work;
  await agree(record, work);
  await ensureNetworks(work, record.service, blueprintOf(record, work));
  successors.set(record.id, await rebuildContainer(engine, blueprintOf(record, work), successors));
  log.info(`recreated ${record.name} from the old image`);
}

/** Checks the rights of a container before it is removed to be made again: only then the engine still tells them. */
async function agree(record: ContainerRecord, work: RestoreWork): Promise<void> {
  const { engine, journal, successors, agreed } = work;
  if (!journal.isInherited || agreed.has(record.id)) return;
  const { project, containerId: ownId } = journal.data;
  const { containers } = await listProject(engine, project.name);
  const siblings = containers.filter((each) => serviceOf(each) === record.service).map(({ id }) => id);
  await checkRights(engine, record, blueprintOf(record, work), { project, ownId, siblings, successors });
  agreed.add(record.id);
}

/** Removes containers; those that run get their grace period first. */
async function remove(containers: readonly { id: string; name: string }[], work: RestoreWork): Promise<void> {
  await stopAll(work, containers);
  // `rm` without --volumes: the new container shares its anonymous volumes with the old one.
  await work.engine.callOrThrow(['rm', '--force', ...containers.map(({ id }) => id)]);
}

/** Makes a container again that is there and cannot be mended. */
async function remake(record: ContainerRecord, work: RestoreWork): Promise<void> {
  await agree(record, work);
  await remove([standIn(record, work)], work);
  await rebuild(record, work);
}

const unknown = ({ name }: ContainerRecord): UpdateError =>
  new UpdateError(
    'containers-not-restored',
    `${name} cannot be recreated, because its configuration is not in the journal`,
  );
