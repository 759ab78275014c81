import type { Engine } from '../../engine/cli/engine.ts';
import { createHelperContainer, removeHelperContainers } from '../../engine/containers/helper-container.ts';
import { rejectionCodes, tolerateErrors } from '../../engine/http/engine-error.ts';
import type { RestorePointLocation } from './data-context.ts';
import { restorePointNameOf } from './restore-point.ts';

/**
 * Label of containers that protect a restore point's images. Docker prunes no image that a container uses, even if the
 * container never started.
 */
const holderLabel = 'svc-updater.restore-point';

const retainingLabelValueOf = (project: string, location: RestorePointLocation): string =>
  `${project}/${restorePointNameOf(location)}`;

/** Maximum characters of a container name. The engine has no limit, and names of services can be long. */
const longestName = 200;

/** Returns the name of a container that is kept for a rollback: `svc-rollback-db-restore`. */
export const retainingContainerNameOf = (project: string, ...words: string[]): string =>
  [project, 'rollback', ...words].join('-').slice(0, longestName);

/** Returns the label and value of containers that are removed together with a restore point. */
export const retainingContainerLabelOf = (project: string, location: RestorePointLocation) => ({
  label: holderLabel,
  madeFor: retainingLabelValueOf(project, location),
});

/**
 * Prefix of tags that protect images. A cleanup may remove the protecting containers, and then also images whose own
 * tag has moved to another image.
 */
export const retainedTagPrefix = 'svc-updater-restore-point:';
const retainedTagsPrefixOf = (project: string, location: RestorePointLocation): string =>
  `${retainedTagPrefix}${project}-${restorePointNameOf(location).slice(-16)}-`;

/** Protects images while a rollback may need them. Missing images are ignored, because they are reported elsewhere. */
export async function retainImages(
  engine: Engine,
  project: string,
  location: RestorePointLocation,
  imageIds: readonly string[],
): Promise<void> {
  // Keep existing tags: removing an image's last tag would remove the image.
  const unique = [...new Set(imageIds)];
  for (const id of unique)
    await engine
      .tagImage(id, `${retainedTagsPrefixOf(project, location)}${shortIdOf(id)}`)
      .catch(tolerateErrors('not-found'));
  const { label, madeFor } = retainingContainerLabelOf(project, location);
  await removeHelperContainers(engine, madeFor, label);
  for (const id of unique) {
    const name = retainingContainerNameOf(project, 'image', shortIdOf(id));
    await createHelperContainer(engine, id, madeFor, { label, name });
  }
}

const shortIdOf = (imageId: string): string => imageId.replace('sha256:', '').slice(0, 12);

export async function stopRetainingImages(
  engine: Engine,
  project: string,
  location: RestorePointLocation,
): Promise<void> {
  await removeHelperContainers(engine, retainingLabelValueOf(project, location), holderLabel);
  // Removing such a tag also removes its image, unless the image has another tag.
  for (const tag of await engine.listTags(retainedTagsPrefixOf(project, location)))
    await engine.removeImage(tag, { keepsParents: true }).catch(tolerateErrors(...rejectionCodes));
}
