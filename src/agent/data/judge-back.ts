import { type Container, isUp, serviceOf } from '../../engine/container.ts';
import { runsImage } from '../../engine/same-image.ts';
import type { FileState } from '../../files/file-record.ts';
import type { JournalData } from '../state/journal-shape.ts';

/** What there is now of what an update left. */
interface Now {
  files: readonly { path: string; state: FileState }[];
  /** Of the project. */
  containers: readonly Container[];
  /** Ids of the images that are here. */
  images: ReadonlySet<string>;
}

/**
 * Why it cannot be gone back to how a run found everything, a sentence each: what stands in its way is somebody's work
 * since, and is not overwritten. Touches nothing.
 * @param back the journal of that run
 */
export function judgeBack({ changeover, blueprints }: JournalData, now: Now): string[] {
  const moved = changeover?.moved ?? [];
  const edited = now.files.filter(({ state }) => state !== 'after').map(({ path }) => path);
  const strange = moved
    .filter(({ image, runsOnce }) => image !== null && !runsOnce)
    .flatMap(({ name, image }) =>
      now.containers.filter((each) => serviceOf(each) === name && image !== null && !runsImage(each, image)),
    );
  const gone = moved.filter(({ name, runsOnce, follows }) => {
    const isThere = now.containers.some((each) => serviceOf(each) === name);
    return !runsOnce && !follows && !isThere;
  });
  const pruned = blueprints.filter(({ imageId }) => !now.images.has(imageId));
  return [
    ...edited.map((path) => `${path} is not as the update left it`),
    ...strange.map(
      (each) => `${each.name} ${isUp(each) ? 'runs' : 'is of'} another image than the update left`,
    ),
    ...gone.map(({ name }) => `${name} has no container any more`),
    ...pruned.map(
      ({ name, imageReference }) =>
        `the image of ${name}, ${imageReference}, is not on this machine any more`,
    ),
  ];
}
