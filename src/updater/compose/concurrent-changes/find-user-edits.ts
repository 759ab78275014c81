import { InterruptedError } from '../../../core/cancellation/cancelled.ts';
import { readFileStates } from '../../../core/files/transaction/file-record.ts';
import { Compose } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { UserEdits } from '../../run/log/outcome-details.ts';
import type { JournalData } from '../../run/state/journal.ts';

/**
 * Finds files that a user edited after this run wrote them. Null if there are no such files, or if the next `up` would
 * still use this run's images.
 */
export async function findUserEdits(engine: Engine, data: JournalData): Promise<UserEdits | null> {
  const { files, changeover: rollout } = data;
  const states = await readFileStates(files);
  const paths = states.filter(({ state }) => state !== 'after').map(({ path }) => path);
  if (paths.length === 0) return null;
  const next = await findNextImages(engine, data);
  const isSame = (rollout?.moved ?? []).every(
    ({ name, image, follows }) => follows || image === null || next?.get(name) === image.reference,
  );
  return isSame ? null : toUserEdits(paths, next);
}

/** Returns the edited files and the images that the next `up` would use. */
export const readUserEdits = async (
  engine: Engine,
  data: JournalData,
  paths: readonly string[],
): Promise<UserEdits> => toUserEdits(paths, await findNextImages(engine, data));

const toUserEdits = (paths: readonly string[], next: ReadonlyMap<string, string> | null): UserEdits => ({
  paths,
  next: next && [...new Set(next.values())],
});

/** Returns the images that the next `up` would use, keyed by service; null if compose rejects the files. */
async function findNextImages(
  engine: Engine,
  { project, services, changeover: rollout }: JournalData,
): Promise<Map<string, string> | null> {
  try {
    const model = await new Compose(engine, project).config();
    const moved = rollout?.moved.filter(({ follows }) => !follows).map(({ name }) => name);
    return new Map(
      (moved ?? services).flatMap((name) => {
        const image = model.services[name]?.image;
        return image == null ? [] : [[name, image] as const];
      }),
    );
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    return null;
  }
}
