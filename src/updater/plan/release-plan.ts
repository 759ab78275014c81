import type { Pin } from '../../core/compose/pin.ts';
import type { Product } from '../../core/progress/product.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { compareTold } from '../../core/release/order.ts';
import { isNumbered, type PinTag, versionOfLabel } from '../../core/release/pin-tag.ts';
import type { PlannedTarget, ReleaseTarget } from '../../core/release/target.ts';
import type { Image } from '../../engine/container.ts';
import { versionLabel } from '../../engine/labels.ts';

/** The planned update of one service. */
export interface ServiceUpdate {
  service: string;
  pin: Pin;
  /** The new tag; the old tag if it is floating and only pulled again. */
  tag: string;
  /** The image to pull, always by tag: the new digest is only known after the pull. */
  to: string;
  /** False for `pull_policy: never`: the local image is used. */
  pull: boolean;
  /** False if the version label of the image is not compared, because its tag has the version, or contradicts it. */
  trustsLabel: boolean;
  /** The target has too few numbers for this pin, so it is refused with the tags in the registry. */
  isShort?: true;
}

/** The installed release of a compose project or a stack. */
export interface InstalledRelease {
  product: Product;
  /** `1.4.2`, the newest running version; null if unknown. */
  runningVersion: string | null;
  /** The prefix of the product's versions; null if unknown. */
  prefix: 'v' | '' | null;
}

/** The update of a compose project or a stack, as far as its tags decide it. */
export interface ReleasePlan {
  installation: InstalledRelease;
  /** The running version as shown in messages: `v1.4.2`, `canary`. */
  from: string;
  target: PlannedTarget | null;
  /** The target if it is a release, with which tags, labels and versions are compared. */
  release: ReleaseTarget | null;
  /** The target as shown in messages: `v1.5.0`, `2025.8.4`, `canary`, `latest`. */
  targetName: string;
  /** The prefix of the product's versions. */
  prefix: 'v' | '';
  /** What is pulled: the planned update of each service, the app first. */
  updates: readonly ServiceUpdate[];
  app: ServiceUpdate;
  warnings: readonly string[];
}

/** The version that the label of a pulled image specifies; null if there is none, or if it is not trusted. */
export const labelledVersion = ({ trustsLabel }: ServiceUpdate, image: Image | undefined): string | null =>
  trustsLabel ? versionOfLabel(image?.labels[versionLabel]) : null;

/**
 * Whether the version label contradicts the version in the tag, as `12.5.0` contradicts `31`. The image then usually inherits the
 * label from its base image, as do the other releases.
 */
export function hasInheritedVersion(tag: PinTag, labels: Readonly<Record<string, string>>): boolean {
  const version = versionOfLabel(labels[versionLabel]);
  return isNumbered(tag) && version !== null && compareTold(version, tag.version) !== 0;
}

/** Migrations only run forward, so a floating tag must not point to an older version. Refusal: downgrade. */
export function refuseOlder(
  { prefix }: ReleasePlan,
  { to }: ServiceUpdate,
  pulled: string | null,
  running: string | null,
): void {
  if (!pulled || !running || compareTold(pulled, running) >= 0) return;
  const message = `${to} points to ${prefix}${pulled}, which is older than the running version ${prefix}${running}`;
  throw new UpdateError('downgrade', message);
}
