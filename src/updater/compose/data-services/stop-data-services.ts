// Data services are covered by a restore point and not replaced by the update: they are stopped while their data is
// copied, and then started again.

import { sleepFor, waitUntil } from '../../../core/cancellation/wait-until.ts';
import { requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import { Compose } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { ContainerSnapshot } from '../../../engine/containers/container-snapshot.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { rebuildContainer } from '../../../engine/containers/rebuild-container.ts';
import { findEngineError } from '../../../engine/http/engine-error.ts';
import { type Container, isUp, numberOf, serviceOf } from '../../../engine/objects/container.ts';
import { toObject } from '../../../engine/objects/json.ts';
import { runHelperContainer } from '../../data/copies/run-helper-container.ts';
import { type StartedContainer, StartWatch } from '../../data/copies/watch-starts.ts';
import type { DataContext } from '../../data/data-context.ts';
import type { SavedRestorePoint } from '../../data/restore-point.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { logWaitIfQuiet } from '../../run/log/heartbeat.ts';
import type { EngineContext, RunContext } from '../../run/run-context.ts';
import type { Journal, JournalData } from '../../run/state/journal.ts';
import { type ContainerRecord, recordsOf } from '../../run/state/rollout.ts';
import { awaitHealthyContainers } from '../health/await-healthy.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { stopAllContainers } from '../replace/stop-containers.ts';
import { checkRights } from './check-rights.ts';

export type JournaledRestorePoint = NonNullable<JournalData['point']>;

/**
 * Minimum grace period in seconds for a container with mounts: a database may take longer to stop than its own grace
 * period, and killing it leaves the data in the state after a crash. A container without mounts has nothing to write
 * and often ignores the stop signal, so its own grace period applies.
 */
const leastGraceSeconds = 60;
const killedCode = 137;
const startDeadlineMs = 900_000;
const settleMs = 1_000;
/** Pause in ms between two checks of a container's ports, each of which requires a helper container. */
const portsPauseMs = 1_000;
/** Number of attempts to start a data service that another process replaces while it is starting. */
const startTries = 5;

/** Returns the context in which the run of a journal saves and restores data. */
export async function createDataContext({ engine, log, journal }: JournaledContext): Promise<DataContext> {
  const { containerId, project } = journal.data;
  const [own] = await engine.inspectContainers([containerId]);
  if (!own) throw new UpdateError('own-container', 'the engine cannot find the updater container');
  return { engine, log, project: project.name, toolsImage: own.imageId, hasLock: true };
}

/**
 * Returns the running containers, of any project, that use the network, PID or IPC namespace of one of the providers.
 */
export async function listNamespaceUsers(
  engine: Engine,
  providers: readonly { id: string }[],
): Promise<Container[]> {
  if (providers.length === 0) return [];
  const modes = new Set(providers.map(({ id }) => `container:${id}`));
  return (await engine.inspectRunning()).filter(({ networkMode, pidMode, ipcMode }) =>
    [networkMode, pidMode, ipcMode].some((mode) => modes.has(mode)),
  );
}

/** Returns the exposed TCP ports on which a running container listens; none if the container has a health check. */
export async function findListeningPorts(
  doors: DataContext,
  container: Container,
  blueprint?: ContainerSnapshot,
): Promise<number[]> {
  const exposed = Object.keys(toObject(blueprint?.config.ExposedPorts)).flatMap((port) => {
    const [number = '', protocol] = port.split('/');
    return protocol === 'tcp' ? [Number(number)] : [];
  });
  if (container.health !== null || exposed.length === 0 || container.status !== 'running') return [];
  const open = await askPorts(doors, container.id);
  return exposed.filter((port) => open.includes(port));
}

/**
 * Returns the TCP ports in LISTEN state in the network of a container; none if they cannot be read, because a container
 * that is restarting has no network to join.
 */
const askPorts = (doors: DataContext, networkOf: string): Promise<number[]> =>
  runHelperContainer(doors, {
    verb: 'ports',
    code: 'engine-unavailable',
    networkOf,
    mounts: [],
    asked: { mounts: [] },
  }).catch((error) => requireUpdateError(error) && []);

/**
 * Returns the covered containers that are up, in groups in stop order: workers, app, containers in the namespaces of
 * data services, and the data services in reverse start order.
 */
export async function listCoveredContainers(
  engine: Engine,
  { project, point, changeover }: JournalData,
): Promise<Container[][]> {
  if (changeover === null) return [];
  const { containers, leftovers } = await listProjectContainers(engine, project.name);
  const up = [...containers, ...leftovers].filter(isUp);
  const [workers, app] = [false, true].map((isApp) =>
    up.filter((each) => changeover.moved.some((one) => one.name === serviceOf(each) && one.isApp === isApp)),
  );
  const services = (point?.services ?? []).map((name) => up.filter((each) => serviceOf(each) === name));
  const riders = await engine.inspectContainers(point?.riders.map(({ id }) => id) ?? []);
  const groups = [workers, app, riders.filter(isUp), ...services.toReversed()];
  return groups.filter((group) => group !== undefined && group.length > 0) as Container[][];
}

/** Stops containers group by group. Returns the names of containers that had to be killed. */
export async function stopInOrder(
  context: EngineContext,
  groups: readonly (readonly Container[])[],
): Promise<string[]> {
  for (const group of groups) {
    const short = group.filter(
      ({ stopTimeout, storage }) => storage.length > 0 && stopTimeout < leastGraceSeconds,
    );
    await stopAllContainers(context, group, {
      graces: new Map(short.map(({ id }) => [id, leastGraceSeconds])),
    });
  }
  const ids = groups.flat().map(({ id }) => id);
  const stopped = await context.engine.inspectContainers(ids);
  return stopped.filter(({ exitCode }) => exitCode === killedCode).map(({ name }) => name);
}

/** Stops the containers that were started although they had to stay stopped, as far as they are still up. */
export async function stopRestartedContainers(
  context: EngineContext,
  started: readonly StartedContainer[],
): Promise<void> {
  const ids = started.map(({ id }) => id);
  await stopInOrder(context, [(await context.engine.inspectContainers(ids)).filter(isUp)]);
}

/** Watches for starts of containers that can write to the data of a restore point. */
export function createDataWatch(
  doors: DataContext,
  { data }: Journal,
  mounts: SavedRestorePoint['mounts'],
): Promise<StartWatch> {
  return StartWatch.open(doors, { project: data.project, covered: coveredServicesOf(data), mounts });
}

/** Returns the updated services and the services whose data is saved. */
export const coveredServicesOf = ({ changeover, point }: JournalData): string[] => [
  ...(changeover?.moved ?? []).map(({ name }) => name),
  ...(point?.services ?? []),
];

/**
 * Writes changed fields of the restore point to the journal.
 * @throws UpdateError write-failed
 */
export async function writeRestorePointState(
  journal: Journal,
  changes: Partial<JournaledRestorePoint>,
): Promise<void> {
  const { point } = journal.data;
  if (point) await journal.write({ point: { ...point, ...changes } });
}

/**
 * Starts the data services that were running before the first stop, in start order, and waits until they are as healthy
 * as before. Recreates a container that was removed, unless another container has replaced it. A second call is
 * harmless.
 * @throws UpdateError containers-not-restored
 */
export async function startDataServices(work: JournaledContext): Promise<void> {
  const { engine, log, journal } = work;
  const { point } = journal.data;
  if (!point) return;
  for (const service of point.services) await startService(work, service);
  for (const { id, name } of point.riders) {
    const [rider] = await engine.inspectContainers([id]);
    if (rider === undefined)
      log.warn(`${name} was stopped together with the data services and has since been removed`);
    else if (!isUp(rider)) await startOne(engine, id, name);
  }
}

async function startService(work: JournaledContext, service: string): Promise<void> {
  const { engine, log, journal } = work;
  const { changeover } = journal.data;
  const records = recordsOf(changeover, service).filter(({ runs }) => runs);
  for (let attempt = 1; records.length > 0; attempt++) {
    const { containers } = await listProjectContainers(engine, journal.data.project.name);
    const now = containers.filter((each) => serviceOf(each) === service);
    const started: { record: ContainerRecord; id: string }[] = [];
    for (const record of records) {
      const there =
        now.find(({ id }) => id === record.id) ?? now.find((each) => numberOf(each) === record.number);
      const id = there?.id ?? (await rebuildMissing(work, record));
      started.push({ record, id });
    }
    const ids = started.map(({ id }) => id);
    try {
      for (const { record, id } of started)
        if (!now.some((each) => each.id === id && isUp(each))) await startOne(engine, id, record.name);
      log.info(
        `${joinWithAnd(records.map(({ name }) => name))} ${records.length > 1 ? 'are' : 'is'} starting`,
      );
      await awaitReady(work, service, started);
      return;
    } catch (error) {
      const isReplaced = (await engine.inspectContainers(ids)).length < ids.length;
      if (!(error instanceof UpdateError) || !isReplaced || attempt >= startTries) throw error;
      log.warn(`${service} was replaced while it was starting; waiting for its new container`);
    }
  }
}

async function startOne(engine: Engine, id: string, name: string): Promise<void> {
  await engine.startContainer(id).catch((error) => {
    const cause = findEngineError(error);
    if (cause?.status == null) throw error;
    throw new UpdateError('containers-not-restored', `${name} could not be started`, {
      detail: [cause.message],
    });
  });
}

/**
 * Waits until the started containers are as healthy as before the stop. If the service listened on ports before, its
 * containers must listen on these ports again.
 */
async function awaitReady(
  work: JournaledContext,
  service: string,
  started: readonly { record: ContainerRecord; id: string }[],
): Promise<void> {
  const well = started.filter(({ record }) => record.well);
  const ports = work.journal.data.point?.ports.find((each) => each.service === service)?.ports ?? [];
  if (ports.length > 0) {
    const doors = await createDataContext(work);
    for (const { id, record } of well) await awaitPorts(work, doors, { id, name: record.name, ports });
    return;
  }
  // Without ports or a health check, the only sign of a successful start is that the container keeps running.
  await sleepFor(settleMs, work.engine.aborted);
  const found = await work.engine.inspectContainers(well.map(({ id }) => id));
  const down = well.find(({ id }) => !found.some((each) => each.id === id && isUp(each)));
  if (down)
    throw new UpdateError('containers-not-restored', `${down.record.name} exited right after it was started`);
  const checked = found.filter(({ health }) => health !== null).map(({ id }) => ({ service, id }));
  if (checked.length === 0) return;
  await awaitHealthyContainers(work, checked).catch((error) => {
    throw requireUpdateError(error, 'broken').withCode('containers-not-restored');
  });
}

async function awaitPorts(
  { engine, log, options }: RunContext,
  doors: DataContext,
  { id, name, ports }: { id: string; name: string; ports: readonly number[] },
): Promise<void> {
  const failed = (message: string) => new UpdateError('containers-not-restored', message);
  const { waitTimeoutMs } = options.limits;
  const observe = async () => {
    const open = await askPorts(doors, id);
    if (ports.every((port) => open.includes(port))) return true;
    const [now] = await engine.inspectContainers([id]);
    if (now === undefined || (!isUp(now) && now.restartPolicy === 'no'))
      throw failed(`${name} exited right after it was started`);
    return false;
  };
  const evaluate = (isListening: boolean, isLate: boolean) => {
    if (isListening) return true;
    if (isLate)
      throw failed(
        `${name} is still not listening on port ${ports.join(', ')} after ${waitTimeoutMs / 1000} s`,
      );
    logWaitIfQuiet(log, `waiting for ${name} to listen on port ${ports.join(', ')}`);
  };
  const wait = { pause: portsPauseMs, deadlineMs: waitTimeoutMs, signal: engine.aborted };
  await waitUntil(observe, evaluate, wait);
}

/** Recreates a container that was removed, and its missing networks. Returns the id of the new container. */
async function rebuildMissing(work: JournaledContext, record: ContainerRecord): Promise<string> {
  const { journal, log } = work;
  const blueprint = journal.data.blueprints.find(({ id }) => id === record.id);
  if (!blueprint)
    throw new UpdateError(
      'containers-not-restored',
      `${record.name} was removed, and its configuration is not in the journal`,
    );
  log.warn(`${record.name} was removed in the meantime; recreating it`);
  await ensureNetworks(work, record.service, blueprint);
  // A snapshot from the journal of an earlier process must not grant more rights on the host than the compose files do.
  if (journal.isInherited) {
    const { project, containerId: ownId } = journal.data;
    const known = { project, ownId, siblings: [], successors: new Map() };
    await checkRights(work.engine, record, blueprint, known);
  }
  return rebuildContainer(work.engine, blueprint, new Map());
}

/**
 * Makes compose recreate the missing networks of a service as the files define them, because `docker compose down` also
 * removes networks.
 */
export async function ensureNetworks(
  { engine, journal }: JournaledContext,
  service: string,
  { networks }: ContainerSnapshot,
): Promise<void> {
  const names = Object.keys(networks);
  const there = await engine.listNetworks(names);
  if (names.every((name) => there.some((each) => each.name === name))) return;
  const { project } = journal.data;
  const ids = async () => {
    const { containers, leftovers } = await listProjectContainers(engine, project.name);
    return [...containers, ...leftovers].flatMap((each) => (serviceOf(each) === service ? [each.id] : []));
  };
  const before = await ids();
  const scale = new Map([[service, 1]]);
  await new Compose(engine, project).up(scale, { start: false, deadlineMs: startDeadlineMs });
  // Compose also creates a container, which is removed here: it has the configuration in the files, not its previous
  // state.
  const created = (await ids()).filter((id) => !before.includes(id));
  await engine.removeContainers(created);
}
