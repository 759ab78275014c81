import { restoreFiles } from '../../../files/restore-files.ts';
import { Interrupted } from '../../../progress/stops.ts';
import { UpdateError } from '../../../progress/update-error.ts';
import type { Ending } from '../../log/ending.ts';
import type { Log } from '../../log/log.ts';
import { restoreTags } from '../../pull/tags.ts';
import type { Journal } from '../../state/journal.ts';
import { findLeftAlone } from '../find-saved.ts';
import { type ContainersContext, restoreContainers } from './restore-containers.ts';

export interface RestoreContext extends ContainersContext {
  /** Old texts of the written files, where this process has them still. */
  texts?: ReadonlyMap<string, string>;
}

/** That it is not to be left half done, and how the run ends then: not at all where an update begins anew after it. */
export async function markGoingBack(journal: Journal, log: Log, ending: Ending | null): Promise<void> {
  const masked = ending && {
    outcome: ending.outcome,
    exitCode: ending.exitCode,
    message: log.masked(ending.message),
  };
  const failure = await journal.note({ goingBack: { ending: masked } });
  if (failure !== null) log.warn(failure);
}

/**
 * Puts everything back to what the journal says it was: files first, then tags, then containers. What is back already
 * stays, so that it can be done again after a kill. No signal ends it.
 * @throws UpdateError files-not-back, not-brought-back
 */
export async function restoreInstance(journal: Journal, given: RestoreContext): Promise<void> {
  const context = { ...given, engine: given.engine.uncancellable() };
  const { engine, log } = context;
  const { files, tags, project, changeover } = journal.data;
  const leftAlone = await restoreFiles(files, context.texts ? { texts: context.texts } : {});
  for (const path of leftAlone) log.warn(`${path} was changed meanwhile: it is left as it is`);
  await restoreTags(engine, project.name, tags, log).catch((error: Error) => {
    if (error instanceof Interrupted) throw error;
    log.warn(
      `the tags could not be put back, the next docker compose up may start the new image: ${error.message}`,
    );
  });
  if (leftAlone.length > 0) {
    await journal.note({ leftAlone: await findLeftAlone(engine, journal.data, leftAlone) });
  }
  if (changeover === null) return;
  try {
    await restoreContainers(journal, changeover, context);
  } catch (error) {
    if (!(error instanceof UpdateError)) throw error;
    throw new UpdateError('not-brought-back', error.message, { detail: error.detail, cause: error });
  }
}
