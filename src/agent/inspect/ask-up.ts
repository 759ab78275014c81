import { inspectImages } from '../../engine/api/query.ts';
import { type AskedService, recordUp, type SentContainer } from '../../engine/api/record-up.ts';
import type { ComposeProject } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Image } from '../../engine/container.ts';
import type { ServiceFacts } from './installation.ts';

/** What recreating services would do, and what there is to compare it with. */
export interface UpAnswer {
  /** By service; without one of which nobody can tell. */
  sent: ReadonlyMap<string, SentContainer>;
  /** By their ids, the images of the services' containers that are on this machine. */
  imagesInUse: ReadonlyMap<string, Image>;
}

/**
 * Asks compose what `up` would send for services, each with the image that its containers have. Of a service whose
 * image is gone from this machine it is asked with another image, and of one for which there is none at all not: compose
 * looks at an image, and would reject the project for want of one.
 * @throws UpdateError compose-invalid
 */
export async function askUp(
  engine: Engine,
  project: ComposeProject,
  services: readonly ServiceFacts[],
): Promise<UpAnswer> {
  const candidates = [
    ...new Set(
      services.flatMap(({ containers }) =>
        containers.flatMap(({ imageId, imageReference }) => [imageId, imageReference]),
      ),
    ),
  ];
  const found = await inspectImages(engine, candidates);
  const images = new Map(
    candidates.flatMap((name, index) => (found[index] ? [[name, found[index]] as const] : [])),
  );
  const asked = services.flatMap(({ name, containers }): AskedService[] => {
    const [first] = containers;
    const own = [first?.imageId, first?.imageReference].find((image) => images.has(image ?? ''));
    const image = own ?? [...images.keys()][0];
    return image === undefined ? [] : [{ name, image, scale: containers.length }];
  });
  const ids = new Set(services.flatMap(({ containers }) => containers.map(({ imageId }) => imageId)));
  return {
    sent: await recordUp(engine, project, asked),
    imagesInUse: new Map([...images].filter(([name]) => ids.has(name))),
  };
}
