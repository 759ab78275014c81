import { hash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { ProjectDraft } from '../../../core/compose/draft.ts';
import { isExistingPath } from '../../../core/files/file-system.ts';
import { requireReplaceableFiles } from '../../../core/files/transaction/check-replaceable-files.ts';
import {
  type FileRecord,
  replaceFiles,
  restoreFiles,
  temporaryPathOf,
} from '../../../core/files/transaction/replace-files.ts';
import type { HostPaths } from '../../../core/mounts/host-paths.ts';
import { stateDirectoryName } from '../../../core/names/state-directory-name.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { RunContext } from '../../run/run-context.ts';
import { pruneBackups } from '../../run/state/run-names.ts';
import {
  backupDirectoryOf,
  openStateDirectory,
  requireTrustedStateDirectory,
} from '../../run/state/state-directory.ts';
import type { StackUpdatePlan } from '../plan/plan-stack.ts';
import type { StackRecordData } from '../record/stack-record.ts';

export const fileHashesOf = ({ changes }: ProjectDraft): StackRecordData['files'] =>
  changes.map(({ path, before, after }) => ({
    path,
    before: hash('sha256', before ?? ''),
    after: hash('sha256', after),
  }));

/** Runs the `write` phase: writes all files or none. @throws UpdateError file-changed, write-failed, rights-lost */
export async function writeStackFiles(
  { log }: Pick<RunContext, 'log'>,
  { project, directory, draft: { changes } }: NonNullable<StackUpdatePlan['files']>,
  { paths, run }: { paths: HostPaths; run: string },
): Promise<void> {
  for (const warning of await requireReplaceableFiles(
    changes.map(({ path }) => path),
    paths,
  ))
    log.warn(warning);
  await openStateDirectory(directory);
  const backups = backupDirectoryOf(directory);
  const records = await replaceFiles(changes, {
    runId: run,
    backupDirectory: join(backups, run),
    planned: project.composeFiles,
    warn: (sentence) => log.warn(sentence),
  });
  for (const { path, description } of changes) {
    const backup = records.find((record) => record.path === path)?.backup ?? '';
    log.info(`${description} (backup: ${stateDirectoryName}/backup/${run}/${basename(backup)})`, {
      file: path,
    });
  }
  await pruneBackups(backups, run);
}

/**
 * Restores files from the run's backups. Skips files that were edited since, or all files if their directory is not
 * mounted. Logs a warning about skipped files.
 * @throws UpdateError files-not-restored, unexpected-file
 */
export async function restoreStackFiles(
  { log }: Pick<RunContext, 'log'>,
  { run, files }: Pick<StackRecordData, 'run' | 'files'>,
  directory: string | null,
): Promise<void> {
  if (files.length === 0) return;
  const names = joinWithAnd(files.map(({ path }) => path));
  if (directory === null || !(await isExistingPath(files[0]?.path ?? ''))) {
    log.warn(
      `cannot restore ${names} because the stack directory is not mounted; the backup is in ${stateDirectoryName}/backup/${run} in that directory`,
    );
    return;
  }
  await requireTrustedStateDirectory(directory);
  const kept = join(backupDirectoryOf(directory), run);
  const changed = await restoreFiles(
    files.map(({ path, before, after }): FileRecord => {
      const name = basename(path);
      return {
        path,
        real: path,
        before,
        after,
        backup: join(kept, name),
        owner: null,
        temporary: temporaryPathOf(join(dirname(path), name), run),
      };
    }),
  );
  for (const path of changed)
    log.warn(`${path} was changed by another user or process, so the original is not restored`);
}
