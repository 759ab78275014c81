import { createHelper, removeHelpers } from '../../engine/api/scratch.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { rejectionCodes, tolerateErrors } from '../../engine/http/engine-error.ts';
import type { RestorePointLocation } from './data-doors.ts';
import { restorePointName } from './point.ts';

/**
 * Label of containers that exist as long as a restore point. Docker does not prune the image of a container, started or
 * not.
 */
const holderLabel = 'svc-updater.restore-point';

const ownerOf = (project: string, place: RestorePointLocation): string =>
  `${project}/${restorePointName(place)}`;

/** Returns the label of containers that are removed with a restore point. */
export const retainingLabelOf = (project: string, place: RestorePointLocation) => ({
  label: holderLabel,
  madeFor: ownerOf(project, place),
});

/**
 * Prefix of tags that protect images. Without these tags, a clean-up that removes the container also removes an image
 * whose own tag has moved.
 */
export const retainedTagPrefix = 'svc-updater-restore-point:';
const tagsOf = (project: string, place: RestorePointLocation): string =>
  `${retainedTagPrefix}${project}-${restorePointName(place).slice(-16)}-`;

/** Protects images while a rollback may need them. Missing images are reported elsewhere. */
export async function retainImages(
  engine: Engine,
  project: string,
  place: RestorePointLocation,
  imageIds: readonly string[],
): Promise<void> {
  // Existing tags are not removed: such a tag may be the last name of its image, which would be removed with the tag.
  for (const id of new Set(imageIds)) {
    const short = id.replace('sha256:', '').slice(0, 12);
    await engine.tagImage(id, `${tagsOf(project, place)}${short}`).catch(tolerateErrors('not-found'));
  }
  await removeHelpers(engine, ownerOf(project, place), holderLabel);
  for (const id of new Set(imageIds))
    await createHelper(engine, id, ownerOf(project, place), { label: holderLabel });
}

export async function removeRetainedImages(
  engine: Engine,
  project: string,
  place: RestorePointLocation,
): Promise<void> {
  await removeHelpers(engine, ownerOf(project, place), holderLabel);
  // Removes only the tag if the image has another tag or a container uses the image.
  for (const tag of await engine.listTags(tagsOf(project, place)))
    await engine.removeImage(tag, { keepsParents: true }).catch(tolerateErrors(...rejectionCodes));
}
