import { parseImageReference, shortRepositoryOf } from '../../../core/compose/pins/image-reference.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { Image } from '../../../engine/objects/container.ts';
import type { ExpectedDigests } from '../../run/release/expected-digests.ts';

/**
 * Requires that local images have verified digests. Depending on the engine, the reported digest is that of an index, a
 * manifest or a configuration.
 * @param named - references, keyed by service
 * @param images - local images, keyed by reference
 * @throws UpdateError not-proven
 */
export function requireVerifiedImages(
  named: ReadonlyMap<string, string>,
  images: ReadonlyMap<string, Image>,
  { images: expected }: ExpectedDigests,
): void {
  requireExpectedDigests(named, expected);
  for (const [service, to] of named) {
    const proven = findVerifiedDigests(service, to, expected);
    const image = images.get(to);
    if (image !== undefined && isVerifiedImage(image, proven)) continue;
    const is = image?.digests.map((digest) => digest.slice(digest.indexOf('@') + 1))[0] ?? image?.id;
    const verified = [...proven].join(' or ');
    const state =
      is === undefined
        ? `missing; the verified image is ${verified}`
        : `${is} instead of the verified ${verified}`;
    throw new UpdateError('not-proven', `the image ${to} used by ${serviceOfImageKey(service)} is ${state}`);
  }
}

/**
 * Requires that a verified digest is known for every image.
 * @param named - references, keyed by service
 * @throws UpdateError not-proven
 */
export function requireExpectedDigests(
  named: ReadonlyMap<string, string>,
  expected: ExpectedDigests['images'],
): void {
  for (const [service, to] of named) {
    if (findVerifiedDigests(service, to, expected).size > 0) continue;
    const message = `the image ${to} used by ${serviceOfImageKey(service)} is not part of a verified release`;
    throw new UpdateError('not-proven', message);
  }
}

/** Returns the service in the key of an image, such as `app` for the mounted image with the key `app.volume0`. */
export const serviceOfImageKey = (key: string): string => key.replace(/\.volume\d+$/, '');

/** Returns the digests that are verified for a service, or for the repository of its image. */
export function findVerifiedDigests(
  service: string,
  reference: string,
  expected: ExpectedDigests['images'],
): ReadonlySet<string> {
  const { repository = '' } = parseImageReference(reference) ?? {};
  const names = [service, repository, shortRepositoryOf(repository)];
  return new Set(names.flatMap((name) => [...(expected.get(name) ?? [])]));
}

/**
 * Whether the image's digest or the digests of all its local manifests are verified. A container may be created from
 * any manifest.
 */
function isVerifiedImage({ id, digests, manifests }: Image, proven: ReadonlySet<string>): boolean {
  const isOne = (digest: string) => proven.has(digest.slice(digest.indexOf('@') + 1));
  return isOne(id) || digests.some(isOne) || (manifests.length > 0 && manifests.every(isOne));
}
