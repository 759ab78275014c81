// Services that a restore point covers and the update does not replace: stopped while their data is copied, and started again.

import { setTimeout as sleep } from 'node:timers/promises';
import { UpdateError } from '../../../core/progress/update-error.ts';
import type { Blueprint } from '../../../engine/api/blueprint.ts';
import { listProject } from '../../../engine/api/project-containers.ts';
import { rebuildContainer } from '../../../engine/api/rebuild-container.ts';
import { Compose } from '../../../engine/cli/compose.ts';
import { type Container, isUp, numberOf, serviceOf } from '../../../engine/container.ts';
import { engineErrorIn } from '../../../engine/http/engine-error.ts';
import { object } from '../../../engine/json.ts';
import type { DataDoors } from '../../data/data-doors.ts';
import { runTools } from '../../data/tools-container.ts';
import { breakSilence, withHeartbeat } from '../../run/log/heartbeat.ts';
import { and } from '../../run/log/wording.ts';
import type { RunContext } from '../../run/run-context.ts';
import { type Changeover, type ContainerRecord, recordsOf } from '../../run/state/changeover.ts';
import type { Journal, JournalData } from '../../run/state/journal.ts';
import { awaitHealthy } from './await-healthy.ts';
import { type Doors, namesOf, workersFirst } from './containers.ts';
import { checkRights } from './rollback/check-rights.ts';

export type JournalPoint = NonNullable<JournalData['point']>;

/**
 * A database may take longer to stop than its container's grace period, and is in the state after a crash if it is killed.
 * A container without mounts has nothing to write, and many ignore the signal: it gets its own.
 */
const leastGraceSeconds = 60;
const killedCode = 137;
const startDeadlineMs = 900_000;
const settleMs = 1_000;
/** How often a data service may be replaced while it is starting. */
const startTries = 5;

/** What saving and restoring works with, for the run of a journal. */
export async function dataDoors(
  { engine, log }: Doors,
  { data: { containerId, project } }: Pick<Journal, 'data'>,
): Promise<DataDoors> {
  const [own] = await engine.inspectContainers([containerId]);
  if (!own) throw new UpdateError('own-container', 'the engine cannot find the updater container');
  return { engine, log, project: project.name, toolsImage: own.imageId, hasLock: true };
}

/** Running containers that live in a namespace of one of these, of whatever project. */
export async function ridersOf(
  { engine }: Pick<Doors, 'engine'>,
  providers: readonly { id: string }[],
): Promise<Container[]> {
  if (providers.length === 0) return [];
  const modes = new Set(providers.map(({ id }) => `container:${id}`));
  return (await engine.inspectRunning()).filter(({ networkMode, pidMode, ipcMode }) =>
    [networkMode, pidMode, ipcMode].some((mode) => modes.has(mode)),
  );
}

/** The ports that a container of a service listens on, of those that it exposes; none if it has a health check. */
export async function portsOf(
  doors: DataDoors,
  container: Container,
  blueprint?: Blueprint,
): Promise<number[]> {
  const exposed = Object.keys(object(blueprint?.config.ExposedPorts)).flatMap((port) => {
    const [number = '', protocol] = port.split('/');
    return protocol === 'tcp' ? [Number(number)] : [];
  });
  if (container.health !== null || exposed.length === 0 || container.status !== 'running') return [];
  const open: number[] = await askPorts(doors, container.id).catch((error) => {
    if (error instanceof UpdateError) return [];
    throw error;
  });
  return exposed.filter((port) => open.includes(port));
}

/** The TCP ports that something listens on in the network of a container. */
async function askPorts(doors: DataDoors, networkOf: string): Promise<number[]> {
  const asked = { mounts: [] };
  return runTools(doors, {
    verb: 'ports',
    code: 'engine-unavailable',
    networkOf,
    mounts: [],
    asked,
  });
}

/** The covered containers that are up, in the order in which they are stopped: workers, app, then data services. */
export async function runningCovered(
  { engine }: Pick<Doors, 'engine'>,
  { project, point }: Pick<JournalData, 'project' | 'point'>,
  changeover: Changeover,
): Promise<Container[][]> {
  const { containers, leftovers } = await listProject(engine, project.name);
  const up = [...containers, ...leftovers].filter(isUp);
  const updated = workersFirst(changeover, up);
  const isApp = (each: Container) =>
    changeover.moved.some((moved) => moved.isApp && moved.name === serviceOf(each));
  const services = (point?.services ?? []).map((name) => up.filter((each) => serviceOf(each) === name));
  const riders = await engine.inspectContainers(point?.riders.map(({ id }) => id) ?? []);
  return [
    updated.filter((each) => !isApp(each)),
    updated.filter(isApp),
    riders.filter(isUp),
    ...services.toReversed(),
  ].filter((group) => group.length > 0);
}

/** Stops containers group by group. Gives the names of those that had to be killed. */
export async function stopInOrder(
  { engine, log }: Doors,
  groups: readonly (readonly Container[])[],
): Promise<string[]> {
  for (const group of groups) {
    const graces = new Map(
      group.flatMap(({ id, stopTimeout, storage }) =>
        storage.length > 0 && stopTimeout < leastGraceSeconds ? [[id, leastGraceSeconds]] : [],
      ),
    );
    const ids = group.map(({ id }) => id);
    await withHeartbeat(
      log,
      `waiting for ${namesOf(group)} to stop`,
      engine.stopContainers(ids, graces as Map<string, number>),
    );
  }
  const stopped = await engine.inspectContainers(groups.flat().map(({ id }) => id));
  return stopped.filter(({ exitCode }) => exitCode === killedCode).map(({ name }) => name);
}

/** @throws UpdateError write-failed */
export async function writePointState(journal: Journal, changes: Partial<JournalPoint>): Promise<void> {
  const { point } = journal.data;
  if (point) await journal.write({ point: { ...point, ...changes } });
}

interface StartWork extends RunContext {
  journal: Journal;
  changeover: Changeover;
}

/**
 * Starts the data services that were running before the first stop, in their order, and waits until they are as healthy as
 * then. A container that is gone is created again, unless another one has taken its place. Can be repeated.
 * @throws UpdateError containers-not-restored
 */
export async function startDataServices({ journal, changeover, ...context }: StartWork): Promise<void> {
  const { engine, log } = context;
  const { point } = journal.data;
  if (!point) return;
  for (const service of point.services) await startService({ ...context, journal, changeover }, service);
  for (const { id, name } of point.riders) {
    const [rider] = await engine.inspectContainers([id]);
    if (rider === undefined)
      log.warn(`${name} was stopped together with the data services and has since been removed`);
    else if (!isUp(rider)) await startOne(engine, id, name);
  }
}

async function startService(work: StartWork, service: string): Promise<void> {
  const { engine, log, journal, changeover } = work;
  const records = recordsOf(changeover, service).filter(({ runs }) => runs);
  for (let attempt = 1; records.length > 0; attempt++) {
    const { containers } = await listProject(engine, journal.data.project.name);
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
      log.info(`${and(records.map(({ name }) => name))} ${records.length > 1 ? 'are' : 'is'} starting`);
      await awaitReady(work, service, started);
      return;
    } catch (error) {
      const isReplaced = (await engine.inspectContainers(ids)).length < ids.length;
      if (!(error instanceof UpdateError) || !isReplaced || attempt >= startTries) throw error;
      log.warn(`${service} was replaced while it was starting; waiting for its new container`);
    }
  }
}

async function startOne(engine: StartWork['engine'], id: string, name: string): Promise<void> {
  await engine.startContainer(id).catch((error) => {
    const cause = engineErrorIn(error);
    if (cause?.status == null) throw error;
    throw new UpdateError('containers-not-restored', `${name} could not be started`, {
      detail: [cause.message],
    });
  });
}

/** As healthy as before; without a health check, listening on the ports it listened on, if it had any. */
async function awaitReady(
  { journal, changeover: _, ...context }: StartWork,
  service: string,
  started: readonly { record: ContainerRecord; id: string }[],
): Promise<void> {
  const well = started.filter(({ record }) => record.well);
  const ports = journal.data.point?.ports.find((each) => each.service === service)?.ports ?? [];
  if (ports.length > 0) {
    const doors = await dataDoors(context, journal);
    for (const { id, record } of well) await awaitPorts(context, doors, { id, name: record.name, ports });
    return;
  }
  // Nothing else tells that a service without a check and without ports has started.
  await sleep(settleMs);
  const found = await context.engine.inspectContainers(well.map(({ id }) => id));
  const down = well.find(({ id }) => !found.some((each) => each.id === id && isUp(each)));
  if (down)
    throw new UpdateError('containers-not-restored', `${down.record.name} exited right after it was started`);
  const checked = found.filter(({ health }) => health !== null).map(({ id }) => ({ service, id }));
  if (checked.length === 0) return;
  await awaitHealthy(context, checked).catch((error: unknown) => {
    if (!(error instanceof UpdateError) || error.code !== 'broken') throw error;
    throw new UpdateError('containers-not-restored', error.message, { detail: error.detail, cause: error });
  });
}

async function awaitPorts(
  { engine, log, options }: RunContext,
  doors: DataDoors,
  { id, name, ports }: { id: string; name: string; ports: readonly number[] },
): Promise<void> {
  const failed = (message: string) => new UpdateError('containers-not-restored', message);
  const { waitTimeoutMs } = options.limits;
  for (const end = performance.now() + waitTimeoutMs; ; ) {
    // A container that is just restarting has no network to join.
    const open: number[] = await askPorts(doors, id).catch((error) => {
      if (error instanceof UpdateError) return [];
      throw error;
    });
    if (ports.every((port) => open.includes(port))) return;
    const [now] = await engine.inspectContainers([id]);
    if (now === undefined || (!isUp(now) && now.restartPolicy === 'no'))
      throw failed(`${name} exited right after it was started`);
    if (performance.now() >= end)
      throw failed(
        `${name} is still not listening on port ${ports.join(', ')} after ${waitTimeoutMs / 1000} s`,
      );
    breakSilence(log, `waiting for ${name} to listen on port ${ports.join(', ')}`);
  }
}

/** Creates a container again that was removed, with the networks that went with it. */
async function rebuildMissing(work: StartWork, record: ContainerRecord): Promise<string> {
  const { journal, log } = work;
  const blueprint = journal.data.blueprints.find(({ id }) => id === record.id);
  if (!blueprint)
    throw new UpdateError(
      'containers-not-restored',
      `${record.name} was removed, and its configuration is not in the journal`,
    );
  log.warn(`${record.name} was removed in the meantime; recreating it`);
  await ensureNetworks(work, record.service, blueprint);
  // What an earlier process has noted gives no more power over the host than the files do.
  if (journal.isInherited) {
    const { project, containerId: ownId } = journal.data;
    const known = { project, ownId, siblings: [], successors: new Map() };
    await checkRights(work.engine, record, blueprint, known);
  }
  return rebuildContainer(work.engine, blueprint, new Map());
}

/** `docker compose down` removes networks, too: compose creates them again as the files define them. */
export async function ensureNetworks(
  { engine, journal }: Pick<StartWork, 'engine' | 'journal'>,
  service: string,
  { networks }: Blueprint,
): Promise<void> {
  const names = Object.keys(networks);
  const there = await engine.listNetworks(names);
  if (names.every((name) => there.some((each) => each.name === name))) return;
  const { project } = journal.data;
  const ids = async () => {
    const { containers, leftovers } = await listProject(engine, project.name);
    return [...containers, ...leftovers].flatMap((each) => (serviceOf(each) === service ? [each.id] : []));
  };
  const before = await ids();
  const scale = new Map([[service, 1]]);
  await new Compose(engine, project).up(scale, { start: false, deadlineMs: startDeadlineMs });
  // It creates a container, too: as the files describe it, and not as it was.
  const created = (await ids()).filter((id) => !before.includes(id));
  await engine.removeContainers(created);
}
