import { InterruptedError } from '../../../core/cancellation/cancelled.ts';
import { restoreFiles } from '../../../core/files/transaction/restore-files.ts';
import { readUserEdits } from '../concurrent-changes/find-user-edits.ts';
import { restoreTags } from '../pull/local-tags.ts';
import type { JournaledContext } from '../replace/replacement.ts';

/** Previous contents of the files that a run writes, keyed by path. */
export type PreviousFileTexts = ReadonlyMap<string, string>;

/**
 * Restores files and image tags. Files that were edited in the meantime stay unchanged.
 * @throws UpdateError files-not-restored
 */
export async function restoreFilesAndTags(
  { engine, log, journal }: JournaledContext,
  texts: PreviousFileTexts,
): Promise<void> {
  const { files, tags, project } = journal.data;
  const leftAlone = await restoreFiles(files, { texts });
  for (const path of leftAlone) log.warn(`${path} was edited during the update and is left unchanged`);
  await restoreTags(engine, project.name, tags, log).catch((error: Error) => {
    if (error instanceof InterruptedError) throw error;
    log.warn(
      `the image tags could not be restored, so the next docker compose up may start the new image: ${error.message}`,
    );
  });
  if (leftAlone.length > 0) {
    await journal.tryWrite({ leftAlone: await readUserEdits(engine, journal.data, leftAlone) });
  }
}
