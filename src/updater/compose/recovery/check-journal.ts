import { dirname, join } from 'node:path';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isWithin } from '../../../core/mounts/host-paths.ts';
import type { ListedContainer } from '../../../engine/objects/container.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import { type JournalData, journalFileName } from '../../run/state/journal.ts';
import { restorePointsDirectoryOf, stateDirectoryOf } from '../../run/state/state-directory.ts';
import type { FoundInstance } from '../inspect/find-project/find-instance.ts';
import { parseLabelPaths } from '../inspect/find-project/labelled-project.ts';

// The directory's owner and root can write the journal. They can also write backups, and through them the compose
// files. These checks ensure that a journal written by them can do no more than the compose files.

/**
 * Checks that the journal's project is in this directory, and that each of its files is listed in labels of the
 * project's containers, or is in this directory or a directory above it. Only users who may write compose files can
 * write to these directories.
 * @throws UpdateError unexpected-file
 */
export function checkJournalProject(
  { project: { name, directory, files, envFiles } }: JournalData,
  { place, paths }: Pick<FoundInstance, 'place' | 'paths'>,
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
 * @param known paths of the project's files
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
 * Checks that a restore point inside the compose directory is in a restore point directory: apps may also have
 * directories there, and write to them as root. A restore point outside the compose directory is accepted, because a
 * user mounted its directory for this run.
 * @param asked restore point directory in the options of this run
 * @throws UpdateError unexpected-file
 */
export function checkJournalRestorePoint(
  { point, project: { directory } }: Pick<JournalData, 'point' | 'project'>,
  asked: string,
  mountedAt: string,
): void {
  const own = [restorePointsDirectoryOf(directory), asked];
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
