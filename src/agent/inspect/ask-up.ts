import { inspectImages } from '../../engine/api/query.ts';
import { type AskedService, recordUp, type SentContainer } from '../../engine/api/record-up.ts';
import type { ComposeProject } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container, Image } from '../../engine/container.ts';
import { startEarly } from '../process/start-early.ts';
import type { ServiceFacts } from './installation.ts';
import { readTextFileIfThere } from './read-files.ts';

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
  // Nearly always all are there: compose starts while the engine looks for them.
  const asking = startEarly(
    recordUp(
      engine,
      project,
      asked(services, (container) => container?.imageId),
      { together: !(await seemRelated(project, services)) },
    ),
  );
  const containers = services.flatMap((service) => service.containers);
  const imagesInUse = await imagesHere(
    engine,
    containers.map(({ imageId }) => imageId),
  );
  if (containers.every(({ imageId }) => imagesInUse.has(imageId))) return { sent: await asking, imagesInUse };
  await asking.catch(() => {});
  const named = await imagesHere(
    engine,
    containers.map(({ imageReference }) => imageReference),
  );
  const images = new Map([...imagesInUse, ...named]);
  const instead = asked(services, (first) => {
    const own = [first?.imageId, first?.imageReference].find((image) => images.has(image ?? ''));
    return own ?? [...images.keys()][0];
  });
  return { sent: await recordUp(engine, project, instead), imagesInUse };
}

/**
 * Whether one of them seems to wait for another, or to live in a namespace of it. By the texts of the files, as a container
 * that was made alone has no label of what its service depends on.
 */
async function seemRelated({ files }: ComposeProject, services: readonly ServiceFacts[]): Promise<boolean> {
  const modes = services
    .flatMap(({ containers }) => containers)
    .flatMap(({ networkMode, pidMode, ipcMode }) => [networkMode, pidMode, ipcMode]);
  if (modes.some((mode) => mode.startsWith('container:'))) return true;
  // One that cannot be read is told of by whoever reads all files.
  const texts = await Promise.all(files.map((path) => readTextFileIfThere(path).catch(() => null)));
  const names = services.map(({ name }) => name);
  return texts.some((file) => file !== null && seemsToDependOn(file.text, names));
}

/** A `depends_on` with its list or its keys, whatever stands around it: up to a line that is indented no further. */
const blocks =
  /^([ \t]*)(?:- )?["']?depends_on["']?[ \t]*:(.*(?:\r?\n(?:\1[ \t]+.*|\1-[ \t].*|[ \t]*(?:#.*)?$))*)/gm;

/**
 * Whether a compose file seems to have a service that depends on one of these. By the text alone, at no cost: what comes by
 * `extends`, an anchor or a template is not seen, and a word in a comment may be taken for a name.
 */
export const seemsToDependOn = (text: string, services: readonly string[]): boolean =>
  [...text.matchAll(blocks)].some(([, , block = '']) =>
    block.split(/[\s[\]{},:'"]+/).some((word) => services.includes(word)),
  );

const asked = (
  services: readonly ServiceFacts[],
  imageOf: (first: Container | undefined) => string | undefined,
): AskedService[] =>
  services.flatMap(({ name, containers }) => {
    const image = imageOf(containers[0]);
    return image === undefined ? [] : [{ name, image, scale: containers.length }];
  });

/** Of these, by the names that they are asked for by. */
async function imagesHere(engine: Engine, names: readonly string[]): Promise<Map<string, Image>> {
  const unique = [...new Set(names)];
  const found = await inspectImages(engine, unique);
  return new Map(unique.flatMap((name, index) => (found[index] ? [[name, found[index]] as const] : [])));
}
