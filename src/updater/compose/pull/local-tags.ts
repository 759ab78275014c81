import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { hasStarted, type Image } from '../../../engine/objects/container.ts';
import type { Log } from '../../run/log/run-log.ts';

/** Returns local images, keyed by reference. References without a local image are omitted. */
export async function findLocalImages(
  engine: Engine,
  references: Iterable<string>,
): Promise<Map<string, Image>> {
  const list = [...new Set(references)];
  const images = await engine.inspectImages(list);
  return new Map(list.flatMap((reference, at) => (images[at] ? [[reference, images[at]] as const] : [])));
}

/** Image that a reference pointed to before a pull. */
export interface PreviousTag {
  reference: string;
  imageId: string;
}

/** Returns the images that the references point to before a pull. References without a local image are omitted. */
export async function readTagsBeforePull(
  engine: Engine,
  references: Iterable<string>,
): Promise<PreviousTag[]> {
  const images = [...(await findLocalImages(engine, references))];
  return images.map(([reference, { id }]) => ({ reference, imageId: id }));
}

/** Points local tags to their new images, which were pulled without changing tags. */
export async function updateTags(
  { engine }: { engine: Engine },
  images: ReadonlyMap<string, Pick<Image, 'id'>>,
): Promise<void> {
  const now = await findLocalImages(engine, images.keys());
  for (const [reference, { id }] of images) {
    const named = parseImageReference(reference);
    if (named === null || named.digest !== null || now.get(reference)?.id === id) continue;
    await engine.tagImage(id, reference);
  }
}

/**
 * Points tags back to the old images, so that the next `up` does not start the new version. If a container was started
 * from a new image, the tag continues to point to that image.
 */
export async function restoreTags(
  engine: Engine,
  project: string,
  before: readonly PreviousTag[],
  log: Log,
): Promise<void> {
  if (before.length === 0) return;
  const references = before.map(({ reference }) => reference);
  const now = await findLocalImages(engine, references);
  const { containers } = await listProjectContainers(engine, project);
  for (const { reference, imageId } of before) {
    const id = now.get(reference)?.id;
    if (id === imageId) continue;
    if (containers.some((container) => container.imageId === id && hasStarted(container))) {
      log.warn(`${reference} still points to the new image, because a container was started from that image`);
      continue;
    }
    await engine.tagImage(imageId, reference);
    log.info(`${reference} points to the previous image again`);
  }
}

/**
 * After an error, removes the tags that this run added. Ignores further errors and signals, because they would hide the
 * first error.
 */
export async function untagImages(engine: Engine, references: Iterable<string>): Promise<void> {
  const lasting = engine.uncancellable();
  for (const reference of references) await lasting.removeImage(reference).catch(() => {});
}
