import { statfs } from 'node:fs/promises';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { serviceOf } from '../../../engine/objects/container.ts';
import { listImageNames } from '../../../provenance/release-file.ts';
import type { ServiceUpdate } from '../../plan/release-plan.ts';
import { formatSize } from '../../run/log/format-values.ts';
import type { ExpectedDigests } from '../../run/release/expected-digests.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { InspectedProject } from '../inspect/installation.ts';
import { findLocalImages } from './local-tags.ts';

/** Rejects a pull that does not fit on the engine's disk (docs/contract.md 2.28). @throws UpdateError no-space */
export async function requireSpaceToPull(
  { engine, options }: Pick<RunContext, 'engine' | 'options'>,
  { containers }: InspectedProject,
  updates: readonly ServiceUpdate[],
  expected: ExpectedDigests | null,
): Promise<void> {
  if (options.proof.archive !== null) return;
  const pulled = updates.filter(({ shouldPull: pull }) => pull);
  const idNow = (service: string) => containers.find((each) => serviceOf(each) === service)?.imageId;
  const ids = pulled.flatMap(({ service }) => idNow(service) ?? []);
  const [images, { bavail, bsize }] = await Promise.all([
    findLocalImages(engine, [...pulled.map(({ to }) => to), ...ids]),
    // The root file system of this container is on the same disk as the engine's images.
    statfs('/'),
  ]);
  const missing = pulled.filter(({ to }) => !images.has(to));
  const sizeNow = (service: string) => images.get(idNow(service) ?? '')?.size ?? 0;
  const needed = computeRequiredPullBytes(missing, expected?.layers ?? new Map(), sizeNow);
  const free = bavail * bsize;
  if (needed <= free) return;
  const message = `the images to pull need at least ${formatSize(needed)}, but the engine's disk has only ${formatSize(free)} free`;
  const advice =
    'Remove unused images with docker image rm, then run {command} again. With --remove-old-images, each update removes the old images.';
  throw new UpdateError('no-space', message, { advice });
}

/**
 * Returns the total size of images in bytes, counting each layer once. If an image's layers are unknown, uses the
 * running image's size, or 0 if that size is unknown too.
 * @param layers - for each service or repository, the layer sizes in bytes, keyed by digest
 */
export function computeRequiredPullBytes(
  images: readonly Pick<ServiceUpdate, 'service' | 'to'>[],
  layers: ExpectedDigests['layers'],
  sizeNow: (service: string) => number,
): number {
  const parts = images.flatMap(({ service, to }): (readonly [string, number])[] => {
    const names = listImageNames(service, { reference: to });
    const known = names.map((name) => layers.get(name)).find((each) => each !== undefined);
    return known ? Object.entries(known) : [[to, sizeNow(service)]];
  });
  return [...new Map(parts).values()].reduce((sum, bytes) => sum + bytes, 0);
}
