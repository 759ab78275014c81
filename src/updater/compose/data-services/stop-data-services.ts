import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { type Container, isUp, serviceOf } from '../../../engine/objects/container.ts';
import { ContainerStartWatch, type StartedContainer } from '../../data/copies/container-start-watch.ts';
import { graceSecondsOf } from '../../data/copies/estimate-restore-point.ts';
import type { DataContext } from '../../data/data-context.ts';
import type { RestorePointRecordData } from '../../data/restore-point.ts';
import type { EngineContext } from '../../run/run-context.ts';
import type { Journal, JournalData } from '../../run/state/journal.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { stopContainers } from '../replace/stop-containers.ts';

export type JournaledRestorePoint = NonNullable<JournalData['point']>;

const killedExitCode = 137;

export async function createDataContext({ engine, log, journal }: JournaledContext): Promise<DataContext> {
  const { containerId, project } = journal.data;
  const [own] = await engine.inspectContainers([containerId]);
  if (!own) throw new UpdateError('own-container', 'the engine cannot find the updater container');
  return { engine, log, project: project.name, helperImageId: own.imageId, hasLock: true };
}

/** Returns the running containers of all projects that use a provider's network, PID or IPC namespace. */
export async function listContainersInNamespaces(
  engine: Engine,
  providers: readonly { id: string }[],
): Promise<Container[]> {
  if (providers.length === 0) return [];
  const modes = new Set(providers.map(({ id }) => `container:${id}`));
  return (await engine.inspectRunning()).filter(({ networkMode, pidMode, ipcMode }) =>
    [networkMode, pidMode, ipcMode].some((mode) => modes.has(mode)),
  );
}

/**
 * Returns the running containers to stop, in groups: the workers, the app, the containers in namespaces of data
 * services, and then each data service. Data services are in reverse start order.
 */
export async function listContainersInStopOrder(
  engine: Engine,
  { project, point, changeover: rollout }: JournalData,
): Promise<Container[][]> {
  if (rollout === null) return [];
  const { containers, leftovers } = await listProjectContainers(engine, project.name);
  const up = [...containers, ...leftovers].filter(isUp);
  const [workers, app] = [false, true].map((isApp) =>
    up.filter((each) => rollout.moved.some((one) => one.name === serviceOf(each) && one.isApp === isApp)),
  );
  const services = (point?.services ?? []).map((name) => up.filter((each) => serviceOf(each) === name));
  const riders = await engine.inspectContainers(point?.riders.map(({ id }) => id) ?? []);
  const groups = [workers, app, riders.filter(isUp), ...services.toReversed()];
  return groups.filter((group) => group !== undefined && group.length > 0) as Container[][];
}

/** Stops containers group by group. Returns the names of containers that had to be killed. */
export async function stopContainerGroups(
  context: EngineContext,
  groups: readonly (readonly Container[])[],
): Promise<string[]> {
  for (const group of groups) {
    const short = group.filter((each) => each.stopTimeout < graceSecondsOf(each));
    await stopContainers(context, group, {
      graces: new Map(short.map((each) => [each.id, graceSecondsOf(each)])),
    });
  }
  const ids = groups.flat().map(({ id }) => id);
  const stopped = await context.engine.inspectContainers(ids);
  return stopped.filter(({ exitCode }) => exitCode === killedExitCode).map(({ name }) => name);
}

/** Stops containers that were started again although they must stay stopped. */
export async function stopRestartedContainers(
  context: EngineContext,
  started: readonly StartedContainer[],
): Promise<void> {
  const ids = started.map(({ id }) => id);
  await stopContainerGroups(context, [(await context.engine.inspectContainers(ids)).filter(isUp)]);
}

/** Watches for containers that are started and can write to the restore point's data. */
export function watchDataWriterStarts(
  dataContext: DataContext,
  { data }: Journal,
  mounts: RestorePointRecordData['mounts'],
): Promise<ContainerStartWatch> {
  return ContainerStartWatch.open(dataContext, {
    project: data.project,
    covered: updatedAndSavedServicesOf(data),
    mounts,
  });
}

/** Returns the updated services and the services whose data is saved. */
export const updatedAndSavedServicesOf = ({ changeover: rollout, point }: JournalData): string[] => [
  ...(rollout?.moved ?? []).map(({ name }) => name),
  ...(point?.services ?? []),
];

/**
 * Writes changed fields of the restore point to the journal, if there is a restore point.
 * @throws UpdateError write-failed
 */
export async function writeRestorePointState(
  journal: Journal,
  changes: Partial<JournaledRestorePoint>,
): Promise<void> {
  const { point } = journal.data;
  if (point) await journal.write({ point: { ...point, ...changes } });
}
