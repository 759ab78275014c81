import { canonicalRepository, parseReference } from '../../../core/compose/reference.ts';
import { requireUpdateError } from '../../../core/progress/update-error.ts';
import { listContainers, listImages } from '../../../engine/api/query.ts';
import { holdingTag } from '../../data/hold-images.ts';
import { and, size } from '../../run/log/wording.ts';
import type { Changeover } from '../../run/state/changeover.ts';
import type { Replacement } from './replacement.ts';

type RemovalContext = Pick<Replacement, 'engine' | 'log' | 'changeover'>;

/** Removes the images that the update has superseded (docs/contract.md 2.28). A failure changes nothing of the outcome. */
export async function removeOldImages({ engine, log, changeover }: RemovalContext): Promise<void> {
  try {
    // The engine measures each image that it lists, which may take long for all of them.
    const reference = [...ownRepositories(changeover)].flatMap((name) => [`${name}:*`, `${name}@*`]);
    const [containers, ...images] = await Promise.all([
      listContainers(engine, {}),
      listImages(engine, { reference }),
      listImages(engine, { dangling: ['true'] }),
    ]);
    const used = new Set(containers.map(({ imageId }) => imageId));
    for (const { references, bytes } of oldImages(images.flat(), used, changeover)) {
      // Without force, the engine refuses if a container has used the image since then.
      const { exitCode } = await engine.call(['image', 'rm', ...references], { deadlineMs: 300_000 });
      if (exitCode === 0) log.info(`removed the old image ${and(references)} (${size(bytes)})`);
    }
  } catch (error) {
    log.info(`old images could not be removed: ${requireUpdateError(error).message}`);
  }
}

/**
 * The unused images in the repositories of the updated services, and the references to remove. An image without a reference
 * belongs to them if the update has replaced it.
 * @param used ids of images that containers use
 */
export function oldImages(
  images: Awaited<ReturnType<typeof listImages>>,
  used: ReadonlySet<string>,
  { moved, containers }: Pick<Changeover, 'moved' | 'containers'>,
): { references: readonly string[]; bytes: number }[] {
  const own = ownRepositories({ moved });
  const replaced = containers.filter(({ service }) => moved.some(({ name }) => name === service));
  return images.flatMap(({ id, tags, digests, size: bytes }) => {
    const isHeld = tags.some((tag) => tag.startsWith(holdingTag));
    if (used.has(id) || isHeld || moved.some(({ image }) => image?.id === id)) return [];
    // With the last tag of a repository, the engine also removes the digests.
    const named = [tags, digests].map((each) => each.filter((reference) => own.has(repositoryOf(reference))));
    const references = named.find(({ length }) => length > 0);
    if (references) return [{ references, bytes }];
    const isNameless = tags.length + digests.length === 0;
    return isNameless && replaced.some(({ imageId }) => imageId === id) ? [{ references: [id], bytes }] : [];
  });
}

const ownRepositories = ({ moved }: Pick<Changeover, 'moved'>) =>
  new Set(moved.flatMap(({ image, added }) => (image && !added && repositoryOf(image.reference)) || []));

/** Empty for `<none>`. */
const repositoryOf = (reference: string): string =>
  canonicalRepository(parseReference(reference)?.repository ?? '');
