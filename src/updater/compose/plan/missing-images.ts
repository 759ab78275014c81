import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { type Container, serviceOf } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { type Installation, replacedServicesOf } from '../inspect/installation.ts';

/**
 * Warns if images of running containers are no longer on this machine, because the containers cannot be recreated
 * without them. For example, rebuilding a tag in the containerd store makes its previous image unavailable.
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
 * Returns commands that make a rollback possible if they are run before the update. In the containerd store, the ID of
 * an image is its digest in the registry, so the image can be pulled again by its ID.
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
