import { parseImageReference, shortRepositoryOf } from '../../../core/compose/pins/image-reference.ts';
import { requireUpdateError } from '../../../core/errors/update-error.ts';
import type { EngineApi } from '../../../engine/engine-api.ts';
import { rejectionCodes, tolerateErrors } from '../../../engine/http/engine-error.ts';
import { retainedTagPrefix } from '../../data/retain-images.ts';
import { formatSize, joinWithAnd } from '../../run/log/format-values.ts';
import type { Rollout } from '../../run/state/rollout.ts';
import type { ReplacementContext } from '../replace/replacement.ts';

type RemovalContext = Pick<ReplacementContext, 'engine' | 'log' | 'changeover'>;

/**
 * Removes unused images from the updated services' repositories (docs/contract.md 2.28). A failure does not change the
 * outcome.
 */
export async function removeOldImages({ engine, log, changeover: rollout }: RemovalContext): Promise<void> {
  try {
    // List only images in these repositories: the engine calculates each listed image's size, which is slow.
    const reference = [...ownRepositories(rollout)].flatMap((name) => [`${name}:*`, `${name}@*`]);
    const [containers, ...images] = await Promise.all([
      engine.listContainers({}),
      engine.listImages({ reference }),
      engine.listImages({ dangling: ['true'] }),
    ]);
    const used = new Set(containers.map(({ imageId }) => imageId));
    for (const { references, bytes } of findUnusedRepositoryImages(images.flat(), used, rollout)) {
      // Without force, the engine keeps an image that a container has just started to use.
      const removed: unknown[] = [];
      for (const reference of references)
        removed.push(await engine.removeImage(reference).catch(tolerateErrors(...rejectionCodes)));
      if (!removed.includes(null))
        log.info(`removed the old image ${joinWithAnd(references)} (${formatSize(bytes)})`);
    }
  } catch (error) {
    log.info(`old images could not be removed: ${requireUpdateError(error).message}`);
  }
}

/**
 * Returns the unused images in the repositories, each with the references to remove. An image without references is
 * included if the update replaced it.
 * @param used - the ids of images that containers use
 */
export function findUnusedRepositoryImages(
  images: Awaited<ReturnType<EngineApi['listImages']>>,
  used: ReadonlySet<string>,
  { moved, containers }: Pick<Rollout, 'moved' | 'containers'>,
): { references: readonly string[]; bytes: number }[] {
  const own = ownRepositories({ moved });
  const replaced = containers.filter(({ service }) => moved.some(({ name }) => name === service));
  return images.flatMap(({ id, tags, digests, size: bytes }) => {
    const isHeld = tags.some((tag) => tag.startsWith(retainedTagPrefix));
    if (used.has(id) || isHeld || moved.some(({ image }) => image?.id === id)) return [];
    // If an image has tags, its digests need no removal: the engine removes them with the last tag.
    const named = [tags, digests].map((each) => each.filter((reference) => own.has(repositoryOf(reference))));
    const references = named.find(({ length }) => length > 0);
    if (references) return [{ references, bytes }];
    const isNameless = tags.length + digests.length === 0;
    return isNameless && replaced.some(({ imageId }) => imageId === id) ? [{ references: [id], bytes }] : [];
  });
}

const ownRepositories = ({ moved }: Pick<Rollout, 'moved'>) =>
  new Set(moved.flatMap(({ image, added }) => (image && !added && repositoryOf(image.reference)) || []));

/** Returns the repository of a reference; empty for `<none>`. */
const repositoryOf = (reference: string): string =>
  shortRepositoryOf(parseImageReference(reference)?.repository ?? '');
