import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { UpdateError } from '../../../core/errors/update-error.ts';
import {
  type FileRecord,
  readFileStates,
  temporaryPathOf,
} from '../../../core/files/transaction/file-record.ts';
import { Compose } from '../../../engine/cli/compose.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { resolveRestorePointsDirectory } from '../../data/restore-point.ts';
import { createEngineRequestMaskRules } from '../../run/log/mask-rules.ts';
import { isSameRequest } from '../../run/options/update-options.ts';
import type { RunContext } from '../../run/run-context.ts';
import { type JournalData, nextAttemptFieldsOf } from '../../run/state/journal.ts';
import { hasNewVersionStarted } from '../../run/state/rollout.ts';
import { runNamePattern } from '../../run/state/run-names.ts';
import { backupDirectoryOf } from '../../run/state/state-directory.ts';
import { type FoundInstance, requireNoUnrelatedContainers } from '../inspect/find-project/find-instance.ts';
import {
  linkProjectPaths,
  listProjectFilePaths,
  readProject,
} from '../inspect/project-files/read-project.ts';
import { findLocalImages } from '../pull/local-tags.ts';
import { checkJournalFiles, checkJournalProject, checkJournalRestorePoint } from './check-journal.ts';
import { findExternalChange } from './find-external-change.ts';
import { maxUpdaterStarts, type PreviousRunFacts } from './plan-recovery.ts';

/**
 * Collects facts about an interrupted run, and masks that run's secrets in the log. `rejection` is compose's error
 * about the current files; null if compose accepts them.
 */
export async function gatherPreviousRunFacts(
  { engine, log, options }: RunContext,
  instance: FoundInstance,
  data: JournalData,
): Promise<{ files: FileRecord[]; facts: PreviousRunFacts; rejection: UpdateError | null }> {
  const { own, paths, location } = instance;
  const { project, changeover: rollout, services } = data;
  checkJournalProject(data, instance, instance.composed);
  if (data.point) {
    checkJournalRestorePoint(
      data,
      resolveRestorePointsDirectory(options.data.restoreDir, paths, project),
      location.mountedAt,
    );
  }
  const { containers } = await listProjectContainers(engine, project.name);
  const [app = options.app] = services;
  // The journal may belong to another project, because two projects may share a directory.
  const isNamed = project.name === location.name;
  requireNoUnrelatedContainers(
    containers,
    {
      ...instance,
      location: { ...location, ...project },
      specifiedContainer: isNamed ? instance.specifiedContainer : null,
    },
    { app, container: isNamed ? options.container : null },
    data,
  );
  // Also mask the environment of removed containers, because an old password may still be valid somewhere.
  log.addMaskRules(() =>
    createEngineRequestMaskRules(data.blueprints.map(({ config }) => ({ body: config }))),
  );
  await linkProjectPaths(project, paths, log);
  const about = { containers, services };
  // If only some files were written, compose may reject them. The rejection is not an error yet, because the files may
  // be restored before compose reads them again.
  const rejection = await readProject(new Compose(engine, project), paths, about, log).then(
    () => null,
    (error: unknown) => {
      if (error instanceof UpdateError && error.outcome === 'refused') return error;
      throw error;
    },
  );
  const files = await Promise.all(data.files.map((record) => relocateFileRecord(record, data)));
  const wanted = (rollout?.moved ?? []).flatMap(({ image }) => (image ? [image.reference] : []));
  const images = await findLocalImages(engine, wanted);
  const laterChange = findExternalChange(data, { files: await readFileStates(files), containers, images });
  const isOwn = data.containerId === own.id;
  if (laterChange === null && files.length > 0) {
    checkJournalFiles(data, await listProjectFilePaths(project, paths), location.mountedAt);
  }
  const isNewThere = rollout !== null && hasNewVersionStarted(rollout, containers);
  const { attempt } = nextAttemptFieldsOf(data);
  // Count another updater container's starts only if the new version may have caused them. That version would interrupt
  // this container as well.
  const isCounted = isOwn || (attempt > maxUpdaterStarts && (data.started || isNewThere));
  return {
    files,
    rejection,
    facts: {
      isOwnRun: isOwn,
      attempt: isCounted ? attempt : 1,
      hasSameRequest: isNamed && isSameRequest(data, options),
      hasNewVersionStarted: isNewThere,
      externalChange: laterChange,
      canRollBack: !options.noRollback,
    },
  };
}

/**
 * Adapts a file record to this container, which may mount the directory at another path. Backup and temporary paths are
 * computed, not taken from the record.
 */
export async function relocateFileRecord(
  record: FileRecord,
  { project, run }: JournalData,
): Promise<FileRecord> {
  const { path, before, backup } = record;
  const real = before === null ? path : await realpath(path).catch(() => path);
  // A rollback to a restore point uses another run's backups, which are in a folder with that run's name.
  const folder = basename(dirname(backup ?? ''));
  const backups = join(backupDirectoryOf(project.directory), runNamePattern.test(folder) ? folder : run);
  const here = backup === null ? null : join(backups, basename(backup));
  return { ...record, real, backup: here, temporary: temporaryPathOf(real, run) };
}
