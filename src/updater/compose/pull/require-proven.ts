import { parseReference } from '../../../core/compose/reference.ts';
import { UpdateError } from '../../../core/progress/update-error.ts';
import type { Image } from '../../../engine/container.ts';
import type { Expectations } from '../../run/expectations.ts';

/**
 * Holds what is here now against what was proven: the index, the manifest or the configuration of this platform, whichever
 * this engine tells.
 * @param named references by service, and the local images behind them @throws UpdateError not-proven
 */
export function requireProven(
  named: ReadonlyMap<string, string>,
  images: ReadonlyMap<string, Image>,
  { images: expected }: Expectations,
): void {
  requireNamed(named, expected);
  for (const [service, to] of named) {
    const proven = provenOf(service, to, expected);
    const image = images.get(to);
    if (image !== undefined && isProven(image, proven)) continue;
    const is = image?.digests.map((digest) => digest.slice(digest.indexOf('@') + 1))[0] ?? image?.id;
    const verified = [...proven].join(' or ');
    const state =
      is === undefined
        ? `missing; the verified image is ${verified}`
        : `${is} instead of the verified ${verified}`;
    throw new UpdateError('not-proven', `the image ${to} used by ${serviceOfKey(service)} is ${state}`);
  }
}

/** @param named references by service @throws UpdateError not-proven where nothing is said of one */
export function requireNamed(named: ReadonlyMap<string, string>, expected: Expectations['images']): void {
  for (const [service, to] of named) {
    if (provenOf(service, to, expected).size > 0) continue;
    const message = `the image ${to} used by ${serviceOfKey(service)} is not part of a verified release`;
    throw new UpdateError('not-proven', message);
  }
}

/** `app` for `app.volume0`, the key of an image that `app` mounts. */
export const serviceOfKey = (key: string): string => key.replace(/\.volume\d+$/, '');

/** What is said of a service's image, by its name or by its repository. */
export function provenOf(
  service: string,
  reference: string,
  expected: Expectations['images'],
): ReadonlySet<string> {
  const { repository = '' } = parseReference(reference) ?? {};
  return new Set([...(expected.get(service) ?? []), ...(expected.get(repository) ?? [])]);
}

/** Of an index all that is here for a platform has to be proven: a container may be made of any of it. */
function isProven({ id, digests, manifests }: Image, proven: ReadonlySet<string>): boolean {
  const isOne = (digest: string) => proven.has(digest.slice(digest.indexOf('@') + 1));
  return isOne(id) || digests.some(isOne) || (manifests.length > 0 && manifests.every(isOne));
}
