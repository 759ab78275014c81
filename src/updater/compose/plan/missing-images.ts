import { parseReference } from '../../../core/compose/pins/image-reference.ts';
import { type Container, serviceOf } from '../../../engine/objects/container.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { type Installation, replacedServicesOf } from '../inspect/installation.ts';

/**
 * Returns warnings about images of running containers that are no longer on this machine. With the containerd store,
 * rebuilding a tag has this effect. Containers cannot be recreated from a missing image.
 */
export function findMissingImages(installation: Installation): string[] {
  const { imagesInUse, product } = installation;
  const containers = replacedServicesOf(installation).flatMap((service) => service.containers);
  const gone = containers.filter(({ imageId }) => !imagesInUse.has(imageId));
  return [...Map.groupBy(gone, ({ imageId }) => imageId)].map(([id, those]) => {
    const names = [...new Set(those.map(serviceOf))];
    return `the image used by ${joinWithAnd(names)} (${id.slice(0, 19)}) is no longer on this machine, so drift detection is limited and a failed update cannot be rolled back. To allow a rollback, first run ${remedies(those, product.name)}`;
  });
}

/**
 * Returns commands to run before the update so that a rollback is possible. With the containerd store, the ID of an
 * image is its digest in the registry, so the image can be pulled again by its ID.
 */
function remedies([first]: readonly Container[], product: string): string {
  const { imageId = '', imageReference = '', imageManifest = null, name = '' } = first ?? {};
  // After a rollback, a container may have an image ID instead of an image reference.
  const repository = /^sha256:/.test(imageReference) ? undefined : parseReference(imageReference)?.repository;
  const keep = `docker commit ${name} ${repository ?? product}:kept and, if the update fails, set that image in the compose file`;
  return repository === undefined || imageManifest === null
    ? keep
    : `docker pull ${repository}@${imageId}; if the registry no longer has the image, run ${keep}`;
}
