import { parseReference } from '../../compose/reference.ts';
import type { Image } from '../../engine/container.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { Expectations } from '../process/expectations.ts';

/**
 * Holds what is here now against what was proven: the index, the manifest or the configuration of this platform, whichever
 * this engine tells.
 * @throws UpdateError not-proven
 */
export function requireProven(
  moves: readonly { service: string; to: string }[],
  images: ReadonlyMap<string, Image>,
  { images: expected }: Expectations,
): void {
  for (const { service, to } of moves) {
    const { repository = '' } = parseReference(to) ?? {};
    const proven = new Set([...(expected.get(service) ?? []), ...(expected.get(repository) ?? [])]);
    if (proven.size === 0)
      throw new UpdateError('not-proven', `${to} of ${service} is in no release that was proven`);
    const image = images.get(to);
    if (image === undefined || !isProven(image, proven)) {
      const is = image?.digests.map((digest) => digest.slice(digest.indexOf('@') + 1))[0] ?? image?.id;
      throw new UpdateError(
        'not-proven',
        `${to} of ${service} is ${is ?? 'not here'}, and not what was proven: ${[...proven].join(' or ')}`,
      );
    }
  }
}

/** Of an index all that is here for a platform has to be proven: a container may be made of any of it. */
function isProven({ id, digests, manifests }: Image, proven: ReadonlySet<string>): boolean {
  const isOne = (digest: string) => proven.has(digest.slice(digest.indexOf('@') + 1));
  return isOne(id) || digests.some(isOne) || (manifests.length > 0 && manifests.every(isOne));
}
