import { type Container, serviceOf } from '../../engine/container.ts';
import { type FileRecord, stateOf } from '../../files/replace-files.ts';
import type { RunContext } from '../process/run-context.ts';
import { localImages } from '../pull/tags.ts';
import { type Changeover, isBefore, recordsOf } from '../state/changeover.ts';
import type { Journal } from '../state/journal.ts';

/** What the run could not have left, as a sentence's beginning; null where all of it is its own. Debris that never ran says nothing. */
export async function findStranger(
  { data }: Journal,
  files: readonly FileRecord[],
  containers: readonly Container[],
  { engine }: RunContext,
): Promise<string | null> {
  const { changeover, goingBack, phase } = data;
  const states = await Promise.all(
    files.map(async (record) => ({ path: record.path, state: await stateOf(record) })),
  );
  const other = states.find(({ state }) => state === 'other');
  if (other) return `${other.path} is neither as it was before nor as it was written`;
  if (phase === 'pull') return null;

  if (changeover === null) {
    const strange = containers.find(
      (container) =>
        data.services.includes(serviceOf(container)) &&
        !data.containers.some(({ id }) => id === container.id),
    );
    return strange ? `${strange.name} was made by somebody else` : null;
  }
  const strange = containers.find((container) => !couldBeLeft(changeover, container, goingBack !== null));
  if (strange) return `${strange.name} was made by somebody else`;
  if (goingBack !== null) return null;
  const old = states.find(({ state }) => state === 'before');
  if (old) return `${old.path} is as it was before`;
  const wanted = changeover.moved.flatMap(({ image }) => (image ? [image] : []));
  const images = await localImages(
    engine,
    wanted.map(({ reference }) => reference),
  );
  const moved = wanted.find(({ reference, id }) => images.get(reference)?.id !== id);
  return moved ? `${moved.reference} is another image by now` : null;
}

function couldBeLeft(changeover: Changeover, container: Container, goingBack: boolean): boolean {
  const moved = changeover.moved.find(({ name }) => name === serviceOf(container));
  if (!moved || isBefore(changeover, container)) return true;
  if (moved.image !== null && container.imageId === moved.image.id) return true;
  const isOfOldImage = recordsOf(changeover, moved.name).some(({ imageId }) => imageId === container.imageId);
  return (moved.image === null || goingBack) && isOfOldImage;
}
