import { UpdateError } from '../../core/errors/update-error.ts';
import { diskFileSystem } from '../../core/files/file-system.ts';
import { readFileHash, readFileStates } from '../../core/files/transaction/file-record.ts';
import { listProjectContainersWithCache } from '../../engine/containers/project-containers.ts';
import { awaitIdleProject } from '../compose/concurrent-changes/await-concurrent-compose.ts';
import {
  type FoundInstance,
  requireNoUnrelatedContainers,
} from '../compose/inspect/find-project/find-instance.ts';
import { inspectInstallation } from '../compose/inspect/inspect-installation.ts';
import type { Installation } from '../compose/inspect/installation.ts';
import { formatRunningVersion } from '../compose/inspect/log-installation.ts';
import { listProjectFilePaths } from '../compose/inspect/project-files/read-project.ts';
import { ComposeRun } from '../compose/loop/compose-run.ts';
import { checkJournalFiles, checkJournalProject } from '../compose/recovery/check-journal.ts';
import { relocateFileRecord } from '../compose/recovery/gather-previous-run.ts';
import { type ProjectRunState, projectOutcomeFactsOf } from '../compose/recovery/project-run-state.ts';
import { recoverPreviousRun } from '../compose/recovery/recover-previous-run.ts';
import { removePreviousRehearsal } from '../compose/rehearsal/rehearsal-record.ts';
import { beginRollbackWithData, requireRestorableData } from '../compose/rollback/restore-data.ts';
import { saveDataBeforeRollback } from '../compose/save/save-data.ts';
import { requireSpaceToRestore } from '../data/copies/copy-mounts.ts';
import type { PlannedRestorePoint } from '../data/copies/estimate-restore-point.ts';
import { findUsableRestorePoint, type RestorePointRecord } from '../data/copies/restore-point-record.ts';
import { findRollbackObstacles } from '../data/find-rollback-obstacles.ts';
import {
  findRestorePoints,
  formatRestorePointTime,
  type RestorePointProject,
  type RestorePointRecordData,
  resolveRestorePointsDirectory,
} from '../data/restore-point.ts';
import { isSharedHostDirectory } from '../data/selection/choose-mounts.ts';
import { logPlanResult } from '../run/last-lines.ts';
import { formatSeconds, joinWithAnd } from '../run/log/format-values.ts';
import { createEngineRequestMaskRules } from '../run/log/mask-rules.ts';
import { logSuccess, type RunOutcome } from '../run/log/run-outcome.ts';
import type { CommandLine } from '../run/options/command-line.ts';
import { rollbackOptionsOf } from '../run/options/update-options.ts';
import type { RunContext } from '../run/run-context.ts';
import { rollBack, runSteps } from '../run/run-steps.ts';
import {
  createUnfinishedRunError,
  hasMixedVersions,
  initialJournalFields,
  Journal,
  type JournalData,
  readUnfinishedJournal,
} from '../run/state/journal.ts';
import { takeLock } from '../run/state/lock.ts';
import { containerRecordOf, type Rollout } from '../run/state/rollout.ts';
import { formatRunName } from '../run/state/run-names.ts';
import { requireTrustedStateDirectory, stateDirectoryOf } from '../run/state/state-directory.ts';

/** Restores the version, files and data of the last restore point. Without --yes, performs a dry run. */
export async function rollBackProject(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
  line: CommandLine,
): Promise<RunOutcome> {
  const { yes, discardCurrent } = rollbackOptionsOf(line);
  const { mountedAt } = instance.location;
  await requireTrustedStateDirectory(mountedAt);
  const pending = await readUnfinishedJournal(stateDirectoryOf(mountedAt));
  if (pending !== null && hasMixedVersions(pending) && !yes) {
    throw createUnfinishedRunError(pending);
  }
  if (!yes) return showRollback(context, await planRollback(context, instance, soFar, true), discardCurrent);
  const lock = await takeLock(context, instance.own, mountedAt);
  soFar.lock = lock;
  await removePreviousRehearsal(context, instance);
  const previous = await recoverPreviousRun(context, { instance, lock }, soFar);
  if (previous.kind === 'ended') return previous.ending;
  if (previous.kind === 'resume') throw createUnfinishedRunError(previous.run.journal.data);
  const found = await planRollback(context, instance, soFar, !discardCurrent);
  const journal = new Journal(lock, {
    ...initialJournalFields,
    run: formatRunName(context.startedAt),
    containerId: instance.own.id,
    attempt: 1,
    project: found.installation.project,
    services: found.undoneJournal.services,
    from: found.from,
    tags: [],
    containers: found.changeover.containers,
  });
  soFar.journal = journal;
  if (!discardCurrent) await saveCurrentData(context, journal, found, soFar);
  return rollBackTo(context, journal, found, discardCurrent);
}

interface RollbackPlan {
  installation: Installation;
  /** Running version, such as `v1.5.0`. */
  from: string;
  record: RestorePointRecord;
  /** Journal of the run that the rollback undoes. */
  undoneJournal: JournalData;
  /** Containers that the rollback replaces, in their current state. */
  changeover: Rollout;
  /** Restore point in which the current data is saved before the rollback replaces it. */
  point: PlannedRestorePoint;
}

/**
 * Plans a rollback to the newest restore point. Compares the restore point with the current state.
 * @param checksData - whether to check that the data can be restored. A rollback that does not save the current data
 * first makes this check itself.
 * @throws UpdateError no-restore-point, modified-since, restore-point-damaged, restore-point-unreadable, no-space,
 * data-unsupported
 */
async function planRollback(
  context: RunContext,
  instance: FoundInstance,
  soFar: ProjectRunState,
  checksData: boolean,
): Promise<RollbackPlan> {
  const { engine, log, options } = context;
  const { own, paths, location: at } = instance;
  if (engine.isPodman) throw new UpdateError('engine-version', 'restore points are not supported on Podman');
  const { containers, cachedEngine } = soFar.lock
    ? await awaitIdleProject(context, at.name, null)
    : await listProjectContainersWithCache(engine, at.name);
  requireNoUnrelatedContainers(containers, instance, options, null);
  const installation = await inspectInstallation(context, instance, {
    containers,
    cachedEngine,
    wasInterrupted: () => false,
  });
  soFar.installation = installation;
  log.enterPhase('plan');
  const { project } = installation;
  const directory = resolveRestorePointsDirectory(options.data.restoreDir, paths, project);
  const newest = await findUsableRestorePoint(directory, project);
  if (newest === null) throw await createNoRestorePointError(directory, project);
  const { record, back, changeover: rollout } = newest;
  const { point } = record;
  // Mask the passwords of old containers, too: a previous password may still be valid.
  log.addMaskRules(() =>
    createEngineRequestMaskRules(back.blueprints.map(({ config }) => ({ body: config }))),
  );
  checkJournalProject(back, instance, instance.composed);
  const files = await Promise.all(back.files.map((each) => relocateFileRecord(each, back)));
  if (files.length > 0) checkJournalFiles(back, await listProjectFilePaths(project, paths), at.mountedAt);
  const ids = [...new Set(back.blueprints.map(({ imageId }) => imageId))];
  const images = await engine.inspectImages(ids);
  const reasons = findRollbackObstacles(back, point.services, {
    files: await readFileStates(files),
    edited: await findEditedFiles(point.fileHashes),
    containers,
    images: new Set(ids.filter((_, index) => images[index] !== null)),
  });
  if (reasons.length > 0) {
    const which = `the newest restore point contains the data of ${point.version}, which was saved at ${formatRestorePointTime(point)} before the update to ${rollout.words.goal}`;
    throw new UpdateError('modified-since', reasons.at(-1) ?? '', {
      detail: [which, ...reasons.slice(0, -1)],
    });
  }
  const hasLock = soFar.lock !== null;
  const dataContext = { engine, log, project: project.name, helperImageId: own.imageId, hasLock };
  // Without the lock, nothing may be written, so missing hashes cannot be computed. In this case, only mounts and space
  // are checked.
  if (checksData && (point.hashes !== null || hasLock)) await requireRestorableData(dataContext, record);
  else if (checksData) await requireSpaceToRestore(dataContext, point);
  const { words } = rollout;
  const from = formatRunningVersion(installation);
  const records = containers.map((each) => containerRecordOf(each, () => false));
  return {
    ...{ installation, from, record },
    undoneJournal: { ...back, files },
    changeover: { ...rollout, containers: records, words: { ...words, from, goal: point.version } },
    point: {
      ...point,
      mounts: point.mounts.map((mount) => ({ ...mount, hasRsyncAttributes: true })),
      ...{ directory, excluded: [] },
    },
  };
}

async function findEditedFiles(hashes: RestorePointRecordData['fileHashes']): Promise<string[]> {
  const now = await Promise.all(hashes.map(({ path }) => readFileHash(diskFileSystem, path)));
  return hashes.filter(({ sha256 }, at) => now[at] !== sha256).map(({ path }) => path);
}

async function createNoRestorePointError(
  directory: string,
  project: RestorePointProject,
): Promise<UpdateError> {
  const places = await findRestorePoints(directory, project);
  const message =
    places.length === 0
      ? `there is no restore point in ${directory}`
      : `the restore point in ${directory} is incomplete or was already used by a rollback`;
  return new UpdateError('no-restore-point', message);
}

/** Logs what a rollback would restore and replace, and the expected downtime. */
function showRollback(
  { log, options }: RunContext,
  { record, from }: RollbackPlan,
  discardCurrent: boolean,
): RunOutcome {
  const { at, version, excluded, mounts, services, bytes, downtimeSeconds } = record.point;
  const about = Math.ceil((downtimeSeconds ?? 5) * 3);
  const names = joinWithAnd([options.product.name, ...services]);
  log.info(
    `rollback from ${from} to ${version} with the data saved at ${formatRestorePointTime(record.point)}: ${joinWithAnd(mounts.map(({ where }) => where)) || 'no data'}`,
  );
  const saved = discardCurrent
    ? ''
    : '; the current data will be saved first, so that it can be recovered manually';
  log.warn(`all data written since then will be lost${saved}`);
  for (const { path } of mounts.filter((each) => isSharedHostDirectory(each.path, record.point.directory)))
    log.warn(`the rollback will replace everything in the host directory ${JSON.stringify(path)}`);
  log.info(`${names} will be unavailable for about ${about} s (a guess)`);
  if (excluded.length > 0)
    log.info(`not in the restore point and therefore not changed: ${joinWithAnd(excluded)}`);
  const rollback = { from, to: version, at, downtimeSeconds: about, bytes };
  return logPlanResult(log, 'to roll back, run the same command with --yes', { rollback });
}

/** Saves the current data for manual recovery. If this fails or is cancelled, the rollback changes nothing. */
async function saveCurrentData(
  context: RunContext,
  journal: Journal,
  found: RollbackPlan,
  soFar: ProjectRunState,
): Promise<void> {
  try {
    await saveDataBeforeRollback({ ...context, journal }, found);
    context.cancellation.signal.throwIfAborted();
  } catch (error) {
    const run = new ComposeRun(context, journal, { facts: () => projectOutcomeFactsOf(soFar) });
    await rollBack(run, error, context.log);
  }
}

/**
 * Restores the old version and its data. Signals no longer cancel the rollback, because a cancellation would leave a
 * mix of old and new data.
 */
async function rollBackTo(
  context: RunContext,
  journal: Journal,
  found: RollbackPlan,
  discardCurrent: boolean,
): Promise<RunOutcome> {
  const { log, cancellation, beganAt } = context;
  const { record, from, undoneJournal: back } = found;
  const { point } = record;
  const unwell = back.changeover?.containers.filter(({ runs, well }) => runs && !well) ?? [];
  const health =
    unwell.length === 0
      ? ''
      : `; already unhealthy before the update: ${joinWithAnd([...new Set(unwell.map(({ service }) => service))])} (see docker compose logs)`;
  const newer = discardCurrent
    ? 'all data written since then was discarded'
    : 'for manual recovery, the newer data is kept until the next update with --restore-point';
  cancellation.disable();
  const done = () =>
    `updated ${from} → ${point.version} in ${formatSeconds(performance.now() - beganAt)} and restored the data saved at ${formatRestorePointTime(point)}; ${newer}${health}`;
  const outcome = { outcome: 'updated', exitCode: 0, message: done() } as const;
  context.notifier.announceRun(from, point.version);
  log.enterPhase('save');
  await beginRollbackWithData({ ...context, journal }, { record, back, isChecked: !discardCurrent }, outcome);
  await runSteps(new ComposeRun(context, journal), 'rollback', log);
  return logSuccess(log, 'updated', done(), { from, to: point.version });
}
