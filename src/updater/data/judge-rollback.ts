import type { FileState } from '../../core/files/file-record.ts';
import type { Blueprint } from '../../engine/api/blueprint.ts';
import { type Container, serviceOf } from '../../engine/container.ts';
import { object } from '../../engine/json.ts';
import { composeLabels } from '../../engine/labels.ts';
import { runsImage } from '../../engine/same-image.ts';
import type { JournalData } from '../run/state/journal-shape.ts';

/** What there is now of what an update left. */
interface Now {
  files: readonly { path: string; state: FileState }[];
  /** Other compose files that have been edited since. */
  edited: readonly string[];
  /** Of the project. */
  containers: readonly Container[];
  /** Ids of the images that are here. */
  images: ReadonlySet<string>;
}

/**
 * Why a rollback is refused, a sentence each: what has changed since the update is another person's work, and is not
 * overwritten. Pure.
 * @param back the journal of the update
 * @param services covered services that the update did not replace
 */
export function judgeRollback(
  { changeover, blueprints }: JournalData,
  services: readonly string[],
  now: Now,
): string[] {
  const moved = changeover?.moved ?? [];
  const written = now.files.filter(({ state }) => state !== 'after').map(({ path }) => path);
  const edited = [...new Set([...written, ...now.edited])];
  const strange = moved
    .filter(({ image, runsOnce }) => image !== null && !runsOnce)
    .flatMap(({ name, image }) =>
      now.containers.filter((each) => serviceOf(each) === name && image !== null && !runsImage(each, image)),
    );
  const gone = moved.filter(({ name, runsOnce, follows }) => {
    const isThere = now.containers.some((each) => serviceOf(each) === name);
    return !runsOnce && !follows && !isThere;
  });
  const dataChanged = services.flatMap((name) => {
    const before = blueprints.find((each) => labelsOf(each)[composeLabels.service] === name);
    const own = now.containers.filter((each) => serviceOf(each) === name);
    if (before === undefined) return [];
    if (own.length === 0) return [`${name} no longer has a container`];
    return own.some((each) => each.imageId === before.imageId)
      ? []
      : [`the image used by ${name} has changed since the data was saved`];
  });
  const pruned = blueprints.filter(({ imageId }) => !now.images.has(imageId));
  return [
    ...edited.map((path) => `${path} has changed since the update`),
    ...strange.map((each) => `the image used by ${each.name} has changed since the update`),
    ...gone.map(({ name }) => `${name} no longer has a container`),
    ...dataChanged,
    ...pruned.map(
      ({ name, imageReference }) =>
        `the image used by ${name}, ${imageReference}, is no longer on this machine`,
    ),
  ];
}

const labelsOf = ({ config }: Blueprint): Readonly<Record<string, unknown>> => object(config.Labels);
