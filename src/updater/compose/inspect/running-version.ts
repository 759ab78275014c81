import { parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import type { Pin } from '../../../core/compose/pins/pin.ts';
import type { Product } from '../../../core/names/product.ts';
import { compareVersions } from '../../../core/release/compare-versions.ts';
import { isNumberedTag, type PinTag, parsePinTag, parseVersionLabel } from '../../../core/release/pin-tag.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { versionLabel } from '../../../engine/objects/labels.ts';
import { hasInheritedVersionLabel, isProductPin } from '../../plan/release-plan.ts';

/**
 * Returns the known versions, such as `1.4.2`, oldest first. An image's release tag takes precedence over its version
 * label.
 */
export function listRunningVersions(containers: readonly Container[]): string[] {
  const versions = containers.flatMap((container) => {
    const tag = tagOf(container);
    if (tag.kind === 'release') return [tag.version];
    return hasContradictingVersionLabel(container)
      ? []
      : (parseVersionLabel(container.labels[versionLabel]) ?? []);
  });
  return versions.sort(compareVersions);
}

/** Whether the version label of a container's image contradicts the image's tag. */
export const hasContradictingVersionLabel = (container: Container): boolean =>
  hasInheritedVersionLabel(tagOf(container), container.labels);

/**
 * Returns the newest running version, the minimum for an update. If no image specifies its version, returns the newest
 * partial tag, such as `2025.10`; null if there is no such tag.
 */
export function newestRunningVersionOf(containers: readonly Container[]): string | null {
  const parts = containers.map(tagOf).flatMap((tag) => (tag.kind === 'part' ? [tag.version] : []));
  return listRunningVersions(containers).at(-1) ?? parts.sort(compareVersions).at(-1) ?? null;
}

/** Returns the version prefix in the product's tags, or otherwise in its version label. Null if neither has one. */
export function findVersionPrefix(
  pin: Pin,
  containers: readonly Container[],
  product: Product,
): 'v' | '' | null {
  if (isProductPin(pin, product)) return 'v';
  const tag = [pin.tag, ...containers.map(tagOf)].find(isNumberedTag);
  if (tag) return tag.prefix;
  const label = containers
    .map(({ labels }) => labels[versionLabel] ?? '')
    .find((text) => parseVersionLabel(text));
  return label === undefined ? null : label.startsWith('v') ? 'v' : '';
}

const tagOf = ({ imageReference }: Container): PinTag =>
  parsePinTag(parseImageReference(imageReference)?.tag ?? 'latest');
