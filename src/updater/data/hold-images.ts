import { createScratch, removeScratches } from '../../engine/api/scratch.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { rejections, unless } from '../../engine/http/engine-error.ts';
import type { PointPlace } from './data-doors.ts';
import { pointName } from './point.ts';

/**
 * Label of containers that exist as long as a restore point. Docker does not prune the image of a container, started or
 * not.
 */
const holderLabel = 'svc-updater.restore-point';

const ownerOf = (project: string, place: PointPlace): string => `${project}/${pointName(place)}`;

/** Returns the label of containers that are removed with a restore point. */
export const holderOf = (project: string, place: PointPlace) => ({
  label: holderLabel,
  madeFor: ownerOf(project, place),
});

/**
 * Prefix of tags that protect images. Without these tags, a clean-up that removes the container also removes an image
 * whose own tag has moved.
 */
export const holdingTag = 'svc-updater-restore-point:';
const tagsOf = (project: string, place: PointPlace): string =>
  `${holdingTag}${project}-${pointName(place).slice(-16)}-`;

/** Protects images while a rollback may need them. Missing images are reported elsewhere. */
export async function holdImages(
  engine: Engine,
  project: string,
  place: PointPlace,
  imageIds: readonly string[],
): Promise<void> {
  // Existing tags are not removed: such a tag may be the last name of its image, which would be removed with the tag.
  for (const id of new Set(imageIds)) {
    const short = id.replace('sha256:', '').slice(0, 12);
    await engine.tagImage(id, `${tagsOf(project, place)}${short}`).catch(unless('not-found'));
  }
  await removeScratches(engine, ownerOf(project, place), holderLabel);
  for (const id of new Set(imageIds))
    await createScratch(engine, id, ownerOf(project, place), { label: holderLabel });
}

export async function releaseImages(engine: Engine, project: string, place: PointPlace): Promise<void> {
  await removeScratches(engine, ownerOf(project, place), holderLabel);
  // Removes only the tag if the image has another tag or a container uses the image.
  for (const tag of await engine.listTags(tagsOf(project, place)))
    await engine.removeImage(tag, { keepsParents: true }).catch(unless(...rejections));
}
