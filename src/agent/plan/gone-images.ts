import { parseReference } from '../../compose/reference.ts';
import { type Container, serviceOf } from '../../engine/container.ts';
import { type Installation, replacedServices } from '../inspect/installation.ts';
import { and } from '../log/wording.ts';

/**
 * What is said where an image that runs is gone from this machine, such as one with the containerd store whose tag was
 * built over: a container that is replaced cannot be made again from it. One sentence for each image.
 */
export function goneImages(installation: Installation): string[] {
  const { imagesInUse, product } = installation;
  const containers = replacedServices(installation).flatMap((service) => service.containers);
  const gone = containers.filter(({ imageId }) => !imagesInUse.has(imageId));
  return [...Map.groupBy(gone, ({ imageId }) => imageId)].map(([id, those]) => {
    const names = [...new Set(those.map(serviceOf))];
    return `the image of ${and(names)} (${id.slice(0, 19)}) is no longer on this machine, so drift detection is limited and a failed update cannot be rolled back. To allow a rollback, first run ${remedies(those, product.name)}`;
  });
}

/** What was pulled can be pulled again; with the containerd store the id is the digest that it has in the registry. */
function remedies([first]: readonly Container[], product: string): string {
  const { imageId = '', imageReference = '', imageManifest = null, name = '' } = first ?? {};
  // Made again on a way back, a container may have an id in the place of its reference.
  const repository = /^sha256:/.test(imageReference) ? undefined : parseReference(imageReference)?.repository;
  const keep = `docker commit ${name} ${repository ?? product}:kept and, after a failure, set that image in the compose file`;
  return repository === undefined || imageManifest === null
    ? keep
    : `docker pull ${repository}@${imageId}; if the registry no longer has the image, run ${keep}`;
}
