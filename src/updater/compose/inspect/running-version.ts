import type { Pin } from '../../../core/compose/pin.ts';
import { parseReference } from '../../../core/compose/reference.ts';
import type { Product } from '../../../core/progress/product.ts';
import { compareVersions } from '../../../core/release/order.ts';
import { isNumbered, type PinTag, parsePinTag, versionOfLabel } from '../../../core/release/pin-tag.ts';
import type { Container } from '../../../engine/container.ts';
import { versionLabel } from '../../../engine/labels.ts';
import { hasInheritedVersion, isOfProduct } from '../../plan/release-plan.ts';

/** The versions that containers run, `1.4.2`, the oldest first: by a release tag of the image, else by its label. */
export function runningVersions(containers: readonly Container[]): string[] {
  const versions = containers.flatMap((container) => {
    const tag = tagOf(container);
    if (tag.kind === 'release') return [tag.version];
    return hasOtherLabel(container) ? [] : (versionOfLabel(container.labels[versionLabel]) ?? []);
  });
  return versions.sort(compareVersions);
}

/** Whether the version label of a container's image contradicts its tag. */
export const hasOtherLabel = (container: Container): boolean =>
  hasInheritedVersion(tagOf(container), container.labels);

/**
 * The newest of all, as nothing may go below it. Where no image tells its version, a tag such as `2025.10` says what it
 * is at least. Null where nothing does.
 */
export function newestRunning(containers: readonly Container[]): string | null {
  const parts = containers.map(tagOf).flatMap((tag) => (tag.kind === 'part' ? [tag.version] : []));
  return runningVersions(containers).at(-1) ?? parts.sort(compareVersions).at(-1) ?? null;
}

/** What a product writes before its versions: as its tags do, else as its label does. Null where nothing tells. */
export function versionPrefix(pin: Pin, containers: readonly Container[], product: Product): 'v' | '' | null {
  if (isOfProduct(pin, product)) return 'v';
  const tag = [pin.tag, ...containers.map(tagOf)].find(isNumbered);
  if (tag) return tag.prefix;
  const label = containers
    .map(({ labels }) => labels[versionLabel] ?? '')
    .find((text) => versionOfLabel(text));
  return label === undefined ? null : label.startsWith('v') ? 'v' : '';
}

const tagOf = ({ imageReference }: Container): PinTag =>
  parsePinTag(parseReference(imageReference)?.tag ?? 'latest');
