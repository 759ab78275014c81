import { dirname, join } from 'node:path';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isWithin } from '../../../core/mounts/host-paths.ts';
import type { ListedContainer } from '../../../engine/objects/container.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import { type JournalData, journalFileName } from '../../run/state/journal.ts';
import { restorePointsDirectoryOf, stateDirectoryOf } from '../../run/state/state-directory.ts';
import type { FoundInstance } from '../inspect/find-project/find-instance.ts';
import { parseLabelPaths } from '../inspect/find-project/labeled-project.ts';

// The directory's owner and root can write the journal and backups, and thereby change compose files. A forged journal
// must give them no more power than a changed compose file does.

/**
 * Checks that the journal is for the project in this directory. A file that no container label lists must be in the
 * compose directory or a parent. Only users who may write compose files can write there.
 * @throws UpdateError unexpected-file
 */
export function checkJournalProject(
  { project: { name, directory, files, envFiles } }: JournalData,
  { location: place, paths }: Pick<FoundInstance, 'location' | 'paths'>,
  composed: readonly ListedContainer[],
): void {
  const here = paths.fromHost(directory);
  if (directory !== place.directory && here !== null && here !== place.mountedAt) {
    throw createUntrustedJournalError(
      `the journal was written for another directory, ${directory}`,
      place.mountedAt,
    );
  }
  const labelled = composed
    .filter(({ labels }) => labels[composeLabels.project] === name)
    .map(({ labels }) => parseLabelPaths({ labels }, labels[composeLabels.directory] ?? directory))
    .flatMap((each) => [...each.files, ...each.envFiles]);
  const odd = [...files, ...envFiles].find(
    (path) => !labelled.includes(path) && !isWithin(directory, dirname(join(path))),
  );
  if (odd !== undefined) {
    throw createUntrustedJournalError(
      `the journal lists the file ${odd}, but no container of ${name} was created from that file`,
      place.mountedAt,
    );
  }
}

/**
 * Checks that the journal lists only project files.
 * @param known - paths of the project's files
 * @throws UpdateError unexpected-file
 */
export function checkJournalFiles(
  { files }: Pick<JournalData, 'files'>,
  known: readonly string[],
  mountedAt: string,
): void {
  const odd = files.find(({ path }) => !known.includes(path));
  if (odd)
    throw createUntrustedJournalError(
      `the journal lists ${odd.path}, which is not a project file`,
      mountedAt,
    );
}

/**
 * Requires that a restore point inside the compose directory is in a directory for restore points. Elsewhere in the
 * compose directory, apps may write as root. A restore point outside the compose directory is accepted, because a user
 * must have mounted its directory for this run.
 * @param requested - restore point directory in the options of this run
 * @throws UpdateError unexpected-file
 */
export function checkJournalRestorePoint(
  { point, project: { directory } }: Pick<JournalData, 'point' | 'project'>,
  requested: string,
  mountedAt: string,
): void {
  const own = [restorePointsDirectoryOf(directory), requested];
  const odd = point && join(point.directory);
  if (odd && isWithin(odd, directory) && !own.includes(dirname(odd))) {
    throw createUntrustedJournalError(
      `the journal lists the restore point ${odd}, which is outside the restore point directories; if you put it there on purpose, pass ${dirname(odd)} with --restore-dir`,
      mountedAt,
    );
  }
}

const createUntrustedJournalError = (message: string, mountedAt: string): UpdateError => {
  const path = join(stateDirectoryOf(mountedAt), journalFileName);
  return new UpdateError('unexpected-file', message, {
    advice: `Find out who created ${path} and move it elsewhere, then run {command} again.`,
  });
};
