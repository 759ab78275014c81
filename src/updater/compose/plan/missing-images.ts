import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { type Container, serviceOf } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { type Installation, replacedServicesOf } from '../inspect/installation.ts';

/**
 * Warns about running containers whose image is no longer on this machine, because they cannot be recreated. In the
 * containerd store, for example, the previous image is lost when a tag is rebuilt.
 */
export function findMissingImageWarnings(installation: Installation): string[] {
  const { imagesInUse, product } = installation;
  const containers = replacedServicesOf(installation).flatMap((service) => service.containers);
  const gone = containers.filter(({ imageId }) => !imagesInUse.has(imageId));
  return [...Map.groupBy(gone, ({ imageId }) => imageId)].map(([id, those]) => {
    const names = [...new Set(those.map(serviceOf))];
    return `the image used by ${joinWithAnd(names)} (${id.slice(0, 19)}) is no longer on this machine, so drift detection is limited and a failed update cannot be rolled back. To allow a rollback, first run ${formatRemedies(those, product.name)}`;
  });
}

/**
 * Returns commands that, run before the update, make a rollback possible. In the containerd store, an image's ID is its
 * registry digest, so the image can be pulled again by its ID.
 */
function formatRemedies([first]: readonly Container[], product: string): string {
  const { imageId = '', imageReference = '', imageManifest = null, name = '' } = first ?? {};
  // After a rollback, a container may have an image ID in place of an image reference.
  const repository = /^sha256:/.test(imageReference)
    ? undefined
    : parseImageReference(imageReference)?.repository;
  const kept = `${repository ?? product}:kept`;
  const keep = `docker commit ${name} ${kept}. If the update fails, set the image ${kept} in the compose file`;
  return repository === undefined || imageManifest === null
    ? keep
    : `docker pull ${repository}@${imageId}; if the registry no longer has the image, run ${keep}`;
}
