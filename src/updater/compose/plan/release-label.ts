import { compareTold } from '../../../core/release/order.ts';
import { parsePinTag, versionOfLabel } from '../../../core/release/pin-tag.ts';
import type { Image } from '../../../engine/container.ts';
import { versionLabel } from '../../../engine/labels.ts';
import type { Plan } from './plan.ts';

/**
 * A label of the pulled app image; null if there is none, or if the image inherits its labels from another product's base image:
 * then its version label differs from its tag.
 */
export function releaseLabel({ app }: Plan, image: Image | undefined, name: string): string | null {
  const version = versionOfLabel(image?.labels[versionLabel]);
  const tag = parsePinTag(app.tag);
  const differs = tag.kind === 'release' && version !== null && compareTold(version, tag.version) !== 0;
  return app.trustsLabel && !differs ? (image?.labels[name] ?? null) : null;
}
