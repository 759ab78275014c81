import { createScratch, removeScratches } from '../../engine/api/scratch.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { PointPlace } from './kind.ts';

/** Of a container that is never started: what it holds is an image. */
const holderLabel = 'svc-updater.restore-point';

const ownerOf = (project: string, { name }: PointPlace): string => `${project}/${name}`;

/** A tag of our own: without one, an image whose tag has moved goes in any clean-up that takes the container. */
const tagOf = (project: string, { name }: PointPlace, imageId: string): string =>
  `svc-updater-restore-point:${project}-${name}-${imageId.replace('sha256:', '').slice(0, 12)}`;

/** Keeps images from being pruned as long as somebody may go back to them; an image that is gone is told elsewhere. */
export async function holdImages(
  engine: Engine,
  project: string,
  place: PointPlace,
  imageIds: readonly string[],
): Promise<void> {
  await releaseImages(engine, project, place, imageIds);
  for (const id of new Set(imageIds)) {
    const holder = await createScratch(engine, id, ownerOf(project, place), { label: holderLabel });
    if (holder !== null) await engine.call(['tag', id, tagOf(project, place, id)]);
  }
}

export async function releaseImages(
  engine: Engine,
  project: string,
  place: PointPlace,
  imageIds: readonly string[],
): Promise<void> {
  await removeScratches(engine, ownerOf(project, place), holderLabel);
  for (const id of new Set(imageIds)) {
    // Removes the name alone, where the image has another or a container is of it.
    await engine.call(['image', 'rm', '--no-prune', tagOf(project, place, id)]);
  }
}
