import { dirname } from 'node:path';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isExistingPath } from '../../../core/files/file-system.ts';
import type { HostPaths } from '../../../core/mounts/host-paths.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import {
  bytesToReadOf,
  estimateRestorePoint,
  type PlannedRestorePoint,
  type PreviousSaveTiming,
  type RehearsedMounts,
  type RestorePointEstimate,
} from '../../data/copies/estimate-restore-point.ts';
import { findUsableRestorePoint } from '../../data/copies/restore-point-record.ts';
import type { DataCoverage } from '../../data/data-context.ts';
import {
  findRestorePoints,
  formatRestorePoint,
  isCompleteRestorePoint,
  isUsedRestorePoint,
  type RestorePointRecordData,
  readRestorePointRecord,
  resolveRestorePointsDirectory,
} from '../../data/restore-point.ts';
import type { MountSelectionContext } from '../../data/selection/choose-mounts.ts';
import { type DataSelectionFacts, requireDataCoverage } from '../../data/selection/evaluate-data.ts';
import type { DataOptions } from '../../run/options/update-options.ts';
import type { RunContext } from '../../run/run-context.ts';
import { restorePointsDirectoryOf } from '../../run/state/state-directory.ts';
import type { FoundInstance } from '../inspect/find-project/find-instance.ts';
import {
  composeAndEnvPathsOf,
  type InspectedProject,
  type Installation,
  replacedServicesOf,
} from '../inspect/installation.ts';
import {
  checkDowntimeEstimate,
  describeRestorePoint,
  findDependentContainers,
} from './describe-restore-point.ts';

/**
 * Plans and logs the restore point's data, and checks that the data can be saved. If no restore point was requested,
 * returns null and logs which existing restore point becomes unusable.
 * @throws UpdateError engine-version
 */
export async function planRestorePoint(
  context: RunContext,
  instance: FoundInstance,
  installation: Installation,
): Promise<PlannedRestorePoint | null> {
  const { options, log } = context;
  const { project } = installation;
  if (!options.data.restorePoint) {
    // Errors are ignored, because the existing restore point is read only for this log line.
    const lost = await findUsableRestorePoint(restorePointsDirectoryOf(project.directory), project).catch(
      () => null,
    );
    if (lost !== null)
      log.info(
        `${formatRestorePoint(lost.record.point)} cannot be used after this update; to be able to roll back, use --restore-point`,
      );
    return null;
  }
  const declared = requireDataCoverage(dataSelectionFactsOf(installation, options.data));
  const { estimate, containers, previous, used } = await surveyData(context, instance, installation, {
    declared,
  });
  const users = findDependentContainers(estimate.point.services, {
    model: installation.model,
    containers,
    updated: replacedServicesOf(installation).map(({ name }) => name),
    helperImageId: instance.own.imageId,
  });
  for (const line of describeRestorePoint(estimate, users, options.product.name)) log.info(line);
  for (const point of previous) {
    log.info(
      used.has(point)
        ? `${formatRestorePoint(point)} will be removed before the data is copied`
        : `${formatRestorePoint(point)} will be removed after this update succeeds`,
    );
  }
  const tooLong = checkDowntimeEstimate(estimate, options.data.maxDowntimeSeconds, options.product.name);
  for (const warning of [...estimate.warnings, ...tooLong]) log.warn(warning);
  return estimate.point;
}

/** Data to copy, the mounts in which it is, and the containers that use it. */
export interface DataSurvey {
  estimate: RestorePointEstimate;
  mountContext: MountSelectionContext;
  /** All containers of the project, and all other running containers. */
  containers: readonly Container[];
  /** Complete restore points, newest first, and those that a rollback used. */
  previous: readonly RestorePointRecordData[];
  used: ReadonlySet<RestorePointRecordData>;
}

/**
 * Inspects the data of an instance, for a restore point or a rehearsal, and checks that it can be copied.
 * @throws UpdateError engine-version, outside-mounts, no-space, data-unsupported
 */
export async function surveyData(
  { engine, options, log }: RunContext,
  { own, paths }: FoundInstance,
  installation: Installation,
  { declared, rehearsed }: { declared: DataCoverage; rehearsed?: RehearsedMounts },
): Promise<DataSurvey> {
  if (engine.isPodman) {
    const message = 'restore points are not available on Podman';
    const advice = 'Back up the data yourself, then update without --restore-point.';
    throw new UpdateError('engine-version', message, { advice });
  }
  const { project } = installation;
  const points = resolveRestorePointsDirectory(options.data.restoreDir, paths, project);
  const [running, ofProject, info] = await Promise.all([
    engine.listContainers({ status: ['running', 'restarting', 'paused'] }),
    engine.listContainers({ label: [`${composeLabels.project}=${project.name}`] }),
    engine.getInfo(),
  ]);
  const ids = new Set([...ofProject, ...running].map(({ id }) => id));
  const containers = await engine.inspectContainers([...ids]);
  const volumes = containers.flatMap(({ mounts }) =>
    mounts.flatMap(({ type, source }) => (type === 'volume' ? [source] : [])),
  );
  const found = await engine.listVolumes([...new Set(volumes)]);
  const { earlier: previous, used } = await readEarlierRestorePoints(points, project);
  const { updated, files } = dataSelectionFactsOf(installation, options.data);
  const mountContext = {
    ...{ project: project.name, directory: project.directory, files, restorePointsDirectory: points },
    dataRoot: String(info.DockerRootDir ?? ''),
    options: new Map(found.map((volume) => [volume.name, volume.options])),
  };
  const estimate = await estimateRestorePoint(declared, {
    ...{ updated, containers, last: lastTime(previous), mountContext },
    ...(rehearsed && { rehearsed }),
    doors: { engine, log, project: project.name, helperImageId: own.imageId },
    existingParent: await findExistingParent(points, paths),
  });
  return { estimate, mountContext, containers, previous, used };
}

/**
 * Reads the complete restore points, newest first, and finds out whether a rollback used them. Skips unreadable ones.
 */
async function readEarlierRestorePoints(
  directory: string,
  project: { name: string; directory: string },
): Promise<{ earlier: RestorePointRecordData[]; used: ReadonlySet<RestorePointRecordData> }> {
  const previous: RestorePointRecordData[] = [];
  const used = new Set<RestorePointRecordData>();
  for (const location of await findRestorePoints(directory, project)) {
    const point = await readRestorePointRecord(location).catch(() => null);
    if (point === null || !isCompleteRestorePoint(point)) continue;
    previous.push(point);
    if (await isUsedRestorePoint(location)) used.add(point);
  }
  return { earlier: previous, used };
}

/** Returns the downtime and data size of the newest restore point with a known downtime; null if there is none. */
function lastTime(points: readonly RestorePointRecordData[]): PreviousSaveTiming | null {
  const timed = points.find(({ downtimeSeconds }) => downtimeSeconds !== null);
  return timed ? { bytes: bytesToReadOf(timed.mounts), seconds: timed.downtimeSeconds ?? 0 } : null;
}

/** Returns the host path of the directory, or of its nearest existing parent. The parent is on the same disk. */
async function findExistingParent(host: string, paths: HostPaths): Promise<string> {
  for (let path = host; path !== dirname(path); path = dirname(path))
    if (await isExistingPath(paths.fromHost(path) ?? path)) return path;
  return host;
}

/** Returns the user's data settings, and the facts about the installation with which they are compared. */
export const dataSelectionFactsOf = (
  installation: InspectedProject,
  { choices: given }: DataOptions,
): DataSelectionFacts => ({
  ...installation,
  updated: replacedServicesOf(installation).map(({ name }) => name),
  dataSettings: given,
  files: composeAndEnvPathsOf(installation.project),
  directory: installation.project.directory,
});
