import type { Engine } from '../../engine/cli/engine.ts';
import { createHelperContainer, removeHelperContainers } from '../../engine/containers/helper-container.ts';
import { rejectionCodes, tolerateErrors } from '../../engine/http/engine-error.ts';
import type { RestorePointLocation } from './data-context.ts';
import { restorePointName } from './restore-point.ts';

/**
 * Label of containers that exist as long as a restore point. They protect its images: docker does not prune the image
 * of a container, even if the container was never started.
 */
const holderLabel = 'svc-updater.restore-point';

const ownerOf = (project: string, place: RestorePointLocation): string =>
  `${project}/${restorePointName(place)}`;

/** Returns the label, with its value, of containers that are removed together with a restore point. */
export const retainingLabelOf = (project: string, place: RestorePointLocation) => ({
  label: holderLabel,
  madeFor: ownerOf(project, place),
});

/**
 * Prefix of tags that protect images. The containers alone are not sufficient: a clean-up that removes them also
 * removes an image whose own tag has moved to another image.
 */
export const retainedTagPrefix = 'svc-updater-restore-point:';
const tagsOf = (project: string, place: RestorePointLocation): string =>
  `${retainedTagPrefix}${project}-${restorePointName(place).slice(-16)}-`;

/**
 * Protects images as long as a rollback may need them. Missing images are ignored here, because they are reported
 * elsewhere.
 */
export async function retainImages(
  engine: Engine,
  project: string,
  place: RestorePointLocation,
  imageIds: readonly string[],
): Promise<void> {
  // Existing tags are kept, because such a tag may be the last name of its image, and the image would be removed with
  // it.
  for (const id of new Set(imageIds)) {
    const short = id.replace('sha256:', '').slice(0, 12);
    await engine.tagImage(id, `${tagsOf(project, place)}${short}`).catch(tolerateErrors('not-found'));
  }
  await removeHelperContainers(engine, ownerOf(project, place), holderLabel);
  for (const id of new Set(imageIds))
    await createHelperContainer(engine, id, ownerOf(project, place), { label: holderLabel });
}

export async function removeRetainedImages(
  engine: Engine,
  project: string,
  place: RestorePointLocation,
): Promise<void> {
  await removeHelperContainers(engine, ownerOf(project, place), holderLabel);
  // If the image has another tag or a container uses it, only this tag is removed.
  for (const tag of await engine.listTags(tagsOf(project, place)))
    await engine.removeImage(tag, { keepsParents: true }).catch(tolerateErrors(...rejectionCodes));
}
