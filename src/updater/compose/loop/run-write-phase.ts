import { basename, join } from 'node:path';
import { listEnvFiles, listProjectFiles, type ProjectFiles } from '../../../core/compose/project-files.ts';
import { diskFileSystem } from '../../../core/files/file-system.ts';
import { requireReplaceableFiles } from '../../../core/files/transaction/check-replaceable-files.ts';
import { readFileHash } from '../../../core/files/transaction/file-record.ts';
import { replaceFiles } from '../../../core/files/transaction/replace-files.ts';
import { stateDirectoryName } from '../../../core/names/state-directory-name.ts';
import type { RestorePointRecordData } from '../../data/restore-point.ts';
import type { Rollout } from '../../run/state/rollout.ts';
import { pruneBackups } from '../../run/state/run-names.ts';
import { backupDirectoryOf } from '../../run/state/state-directory.ts';
import type { PreparedPlan } from '../plan/prepared-plan.ts';
import { updateTags } from '../pull/local-tags.ts';
import type { JournaledContext } from '../replace/replacement.ts';
import { prepareRollback } from '../save/prepare-rollback.ts';
import type { DataSaveResult } from '../save/save-data.ts';

/** Writes the files, sets the image tags that the pull has not set, and records everything that a rollback needs. */
export async function runWritePhase(
  context: JournaledContext,
  plan: PreparedPlan,
  { changeover: rollout, saved }: { changeover: Rollout; saved: DataSaveResult | null },
): Promise<void> {
  const { journal } = context;
  const { installation, images } = plan;
  await writeFiles(context, plan);
  if (context.options.data.restorePoint) await updateTags(context, images);
  await saved?.saveAgainIfStarted();
  // The restore point no longer exists if another version was started in the meantime.
  if (journal.data.point && saved) {
    await saved.record.update({
      back: { ...journal.data, changeover: rollout },
      fileHashes: await hashComposeFiles(installation.files),
    });
  }
  await prepareRollback(context, rollout, installation);
}

/**
 * Hashes only the compose files: if one was edited after the update, a rollback is refused. Edited env files are
 * accepted.
 */
function hashComposeFiles(files: ProjectFiles): Promise<RestorePointRecordData['fileHashes']> {
  const envFiles = listEnvFiles(files);
  const own = listProjectFiles(files).filter(({ path }) => !envFiles.some((each) => each.path === path));
  return Promise.all(
    own.map(async ({ path }) => ({ path, sha256: await readFileHash(diskFileSystem, path) })),
  );
}

/** Writes all files or none. The journal lists all files before the first file is changed. */
async function writeFiles(
  { log, cancellation, journal }: JournaledContext,
  { installation, changes }: PreparedPlan,
): Promise<void> {
  await requireReplaceableFiles(
    changes.map(({ path }) => path),
    installation.paths,
  );
  cancellation.signal.throwIfAborted();
  const { run } = journal.data;
  // Backup paths are host paths, because a later run may mount the compose directory elsewhere.
  const backups = backupDirectoryOf(installation.project.directory);
  if (changes.length > 0) log.enterPhase('write');
  const records = await replaceFiles(changes, {
    runId: run,
    backupDirectory: changes.length > 0 ? join(backups, run) : null,
    // Check even files that are not written, because any file may have been edited during the pull.
    planned: listProjectFiles(installation.files),
    warn: (sentence) => log.warn(sentence),
    prepared: (files) => journal.write({ state: { at: 'writing' }, files }),
  });
  for (const { path, description } of changes) {
    const backup = records.find((record) => record.path === path)?.backup;
    const kept = backup ? `backup in ${stateDirectoryName}/backup/${run}/${basename(backup)}` : 'created';
    log.info(`${description} (${kept})`, { file: path });
  }
  await pruneBackups(backups, run);
  cancellation.signal.throwIfAborted();
}
