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
    const image = `an image that is gone from this machine (${id.slice(0, 19)}), as where its tag was built over`;
    return `${and(names)} ${names.length > 1 ? 'run' : 'runs'} ${image}: drift is looked for without it, and once replaced there is no way back to it. To have one, first: ${remedies(those, product.name)}`;
  });
}

/** What was pulled can be pulled again; with the containerd store the id is the digest that it has in the registry. */
function remedies([first]: readonly Container[], product: string): string {
  const { imageId = '', imageReference = '', imageManifest = null, name = '' } = first ?? {};
  // Made again on a way back, a container may have an id in the place of its reference.
  const repository = /^sha256:/.test(imageReference) ? undefined : parseReference(imageReference)?.repository;
  const keep = `docker commit ${name} ${repository ?? product}:kept keeps what runs, to be named in the files after a failure`;
  return repository === undefined || imageManifest === null
    ? keep
    : `docker pull ${repository}@${imageId}; where its registry does not have it, ${keep}`;
}
