import type { FileState } from '../../core/files/transaction/file-record.ts';
import { isContainerOfImage } from '../../engine/comparison/same-image.ts';
import { type Container, serviceOf } from '../../engine/objects/container.ts';
import { toObject } from '../../engine/objects/json.ts';
import { composeLabels } from '../../engine/objects/labels.ts';
import type { JournalData } from '../run/state/journal-schema.ts';

/** Current files, containers and images, to be compared with their state after the update. */
interface CurrentInstallation {
  files: readonly { path: string; state: FileState }[];
  /** Compose and env files that changed after the update. */
  edited: readonly string[];
  containers: readonly Container[];
  /** Ids of the images on this machine. */
  images: ReadonlySet<string>;
}

/**
 * Returns the reasons why the update must not be undone, one sentence each. A rollback must not overwrite later
 * changes.
 * @param services - covered services that the update did not replace
 */
export function findRollbackObstacles(
  { changeover: rollout, blueprints: snapshots }: JournalData,
  services: readonly string[],
  now: CurrentInstallation,
): string[] {
  const lasting = (rollout?.moved ?? []).filter(({ runsOnce, isRemoved }) => !runsOnce && !isRemoved);
  const containersOf = (service: string) => now.containers.filter((each) => serviceOf(each) === service);
  const written = now.files.filter(({ state }) => state !== 'after').map(({ path }) => path);
  const edited = [...new Set([...written, ...now.edited])];
  const strange = lasting.flatMap(({ name, image }) =>
    image === null ? [] : containersOf(name).filter((each) => !isContainerOfImage(each, image)),
  );
  const gone = lasting.filter(({ name, follows }) => !follows && containersOf(name).length === 0);
  const dataChanged = services.flatMap((name) => {
    const before = snapshots.find(({ config }) => toObject(config.Labels)[composeLabels.service] === name);
    const own = containersOf(name);
    if (before === undefined) return [];
    if (own.length === 0) return [`${name} no longer has a container`];
    return own.some((each) => each.imageId === before.imageId)
      ? []
      : [`the image used by ${name} has changed since the data was saved`];
  });
  const pruned = snapshots.filter(({ imageId }) => !now.images.has(imageId));
  return [
    ...edited.map((path) => `${path} has changed since the update`),
    ...strange.map((each) => `the image used by ${each.name} has changed since the update`),
    ...gone.map(({ name }) => `${name} no longer has a container`),
    ...dataChanged,
    ...pruned.map(
      ({ name, imageReference }) =>
        `the image ${imageReference}, which ${name} used before the update, is no longer on this machine`,
    ),
  ];
}
