import { sleepFor, waitUntil } from '../../../core/cancellation/wait-until.ts';
import { requireUpdateError, UpdateError } from '../../../core/errors/update-error.ts';
import { Compose } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { ContainerSnapshot } from '../../../engine/containers/container-snapshot.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { recreateContainer } from '../../../engine/containers/recreate-container.ts';
import { findEngineError } from '../../../engine/http/engine-error.ts';
import { type Container, containerNumberOf, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { toObject } from '../../../engine/objects/json.ts';
import { runHelperContainer } from '../../data/copies/run-helper-container.ts';
import type { DataContext } from '../../data/data-context.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { logWaitIfQuiet } from '../../run/log/heartbeat.ts';
import type { RunContext } from '../../run/run-context.ts';
import { type ContainerRecord, serviceContainerRecordsOf } from '../../run/state/rollout.ts';
import { awaitHealthyContainers } from '../health/await-healthy.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { checkSnapshotPrivileges } from './check-snapshot-privileges.ts';
import { createDataContext } from './stop-data-services.ts';

const startDeadlineMs = 900_000;
const exitCheckDelayMs = 1_000;
/** Pause in ms between two port checks. Not shorter, because each check creates a helper container. */
const portsPauseMs = 1_000;
/** Maximum number of attempts to start a data service. An attempt fails if another process replaces the container. */
const maxStartAttempts = 5;

/**
 * Returns the exposed TCP ports on which a container listens. Empty if it has a health check, which is used instead.
 */
export async function findListeningPorts(
  dataContext: DataContext,
  container: Container,
  snapshot?: ContainerSnapshot,
): Promise<number[]> {
  const exposed = Object.keys(toObject(snapshot?.config.ExposedPorts)).flatMap((port) => {
    const [number = '', protocol] = port.split('/');
    return protocol === 'tcp' ? [Number(number)] : [];
  });
  if (container.health !== null || exposed.length === 0 || container.status !== 'running') return [];
  const open = await fetchListeningPorts(dataContext, container.id);
  return exposed.filter((port) => open.includes(port));
}

/**
 * Returns the TCP ports on which processes in a container's network listen. Empty if the ports cannot be read, for
 * example while the container is restarting.
 */
const fetchListeningPorts = (dataContext: DataContext, networkOf: string): Promise<number[]> =>
  runHelperContainer(dataContext, {
    verb: 'ports',
    code: 'engine-unavailable',
    networkOf,
    mounts: [],
    request: { mounts: [] },
  }).catch((error) => requireUpdateError(error) && []);

/**
 * Starts the data services that were originally running, in start order, and waits until they are as healthy as before.
 * Recreates removed containers unless they were replaced. A second call is harmless.
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
    else if (!isUp(rider)) await startDataContainer(engine, id, name);
  }
}

async function startService(work: JournaledContext, service: string): Promise<void> {
  const { engine, log, journal } = work;
  const { changeover: rollout } = journal.data;
  const records = serviceContainerRecordsOf(rollout, service).filter(({ runs }) => runs);
  for (let attempt = 1; records.length > 0; attempt++) {
    const { containers } = await listProjectContainers(engine, journal.data.project.name);
    const now = containers.filter((each) => serviceOf(each) === service);
    const started: { record: ContainerRecord; id: string }[] = [];
    for (const record of records) {
      const there =
        now.find(({ id }) => id === record.id) ??
        now.find((each) => containerNumberOf(each) === record.number);
      const id = there?.id ?? (await rebuildMissingContainer(work, record));
      started.push({ record, id });
    }
    const ids = started.map(({ id }) => id);
    try {
      for (const { record, id } of started)
        if (!now.some((each) => each.id === id && isUp(each)))
          await startDataContainer(engine, id, record.name);
      log.info(
        `${joinWithAnd(records.map(({ name }) => name))} ${records.length > 1 ? 'are' : 'is'} starting`,
      );
      await awaitStartedContainers(work, service, started);
      return;
    } catch (error) {
      const isReplaced = (await engine.inspectContainers(ids)).length < ids.length;
      if (!(error instanceof UpdateError) || !isReplaced || attempt >= maxStartAttempts) throw error;
      log.warn(`${service} was replaced while it was starting; waiting for its new container`);
    }
  }
}

async function startDataContainer(engine: Engine, id: string, name: string): Promise<void> {
  await engine.startContainer(id).catch((error) => {
    const cause = findEngineError(error);
    if (cause?.status == null) throw error;
    throw new UpdateError('containers-not-restored', `${name} could not be started`, {
      detail: [cause.message],
    });
  });
}

/**
 * Waits until the containers are as healthy as before: they listen, pass their health check, or at least keep running.
 */
async function awaitStartedContainers(
  work: JournaledContext,
  service: string,
  started: readonly { record: ContainerRecord; id: string }[],
): Promise<void> {
  const well = started.filter(({ record }) => record.well);
  const ports = work.journal.data.point?.ports.find((each) => each.service === service)?.ports ?? [];
  if (ports.length > 0) {
    const dataContext = await createDataContext(work);
    for (const { id, record } of well) await awaitPorts(work, dataContext, { id, name: record.name, ports });
    return;
  }
  // Without ports or a health check, the only sign of success is a container that keeps running.
  await sleepFor(exitCheckDelayMs, work.engine.aborted);
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
  dataContext: DataContext,
  { id, name, ports }: { id: string; name: string; ports: readonly number[] },
): Promise<void> {
  const failed = (message: string) => new UpdateError('containers-not-restored', message);
  const { waitTimeoutMs } = options.limits;
  const observe = async () => {
    const open = await fetchListeningPorts(dataContext, id);
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

/** Recreates a removed container and its missing networks, and returns the new container's ID. */
async function rebuildMissingContainer(work: JournaledContext, record: ContainerRecord): Promise<string> {
  const { journal, log } = work;
  const blueprint = journal.data.blueprints.find(({ id }) => id === record.id);
  if (!blueprint)
    throw new UpdateError(
      'containers-not-restored',
      `${record.name} was removed, and its configuration is not in the journal`,
    );
  log.warn(`${record.name} was removed in the meantime; recreating it`);
  await recreateMissingNetworks(work, record.service, blueprint);
  // A snapshot from an earlier process must not grant more privileges on the host than the compose files do.
  if (journal.isInherited) {
    const { project, containerId: ownId } = journal.data;
    const known = { project, ownId, siblings: [], successors: new Map() };
    await checkSnapshotPrivileges(work.engine, record, blueprint, known);
  }
  return recreateContainer(work.engine, blueprint, new Map());
}

/** Makes compose recreate a service's missing networks, for example after `docker compose down`. */
export async function recreateMissingNetworks(
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
  // Compose also creates containers. Remove them, because the caller restores the old container's snapshot.
  const created = (await ids()).filter((id) => !before.includes(id));
  await engine.removeContainers(created);
}
