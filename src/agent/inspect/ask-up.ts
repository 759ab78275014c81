import { inspectImages } from '../../engine/api/query.ts';
import { type AskedService, recordUp, type SentContainer } from '../../engine/api/record-up.ts';
import type { ComposeProject } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { ServiceFacts } from './installation.ts';

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
): Promise<ReadonlyMap<string, SentContainer>> {
  const candidates = [
    ...new Set(
      services.flatMap(({ containers }) =>
        containers.flatMap(({ imageId, imageReference }) => [imageId, imageReference]),
      ),
    ),
  ];
  const images = await inspectImages(engine, candidates);
  const here = candidates.filter((_, index) => images[index] !== null);
  const asked = services.flatMap(({ name, containers }): AskedService[] => {
    const [first] = containers;
    const own = [first?.imageId, first?.imageReference].find((image) => here.includes(image ?? ''));
    const image = own ?? here[0];
    return image === undefined ? [] : [{ name, image, scale: containers.length }];
  });
  return recordUp(engine, project, asked);
}
