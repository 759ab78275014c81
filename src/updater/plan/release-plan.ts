import type { Pin } from '../../core/compose/pins/pin.ts';
import {
  createDowngradeError,
  createFloatingTagMismatchError,
  createUnversionedPinError,
  createUnversionedTargetError,
  createVariantMismatchError,
  isPinnedToFloatingTag,
} from '../../core/compose/pins/target-errors.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import type { Product } from '../../core/names/product.ts';
import { compareSharedVersionNumbers } from '../../core/release/compare-versions.ts';
import { isNumberedTag, type PinTag, parseVersionLabel } from '../../core/release/pin-tag.ts';
import type { TagUpdateResult } from '../../core/release/plan-tag-update.ts';
import type { ReleaseOrCanaryTarget, ReleaseTarget, Target } from '../../core/release/target.ts';
import type { Image } from '../../engine/objects/container.ts';
import { versionLabel } from '../../engine/objects/labels.ts';
import type { TargetOption } from '../run/options/update-options.ts';

export interface ServiceUpdate {
  service: string;
  pin: Pin;
  /** New tag. A floating tag stays the same, and only its image is pulled again. */
  tag: string;
  /** Image reference. It always has a tag and no digest, because the new digest is only known after the pull. */
  to: string;
  /** False for `pull_policy: never`, which uses the local image. */
  shouldPull: boolean;
  /** False if the tag already contains the version, or if the version label contradicts the tag. */
  trustsLabel: boolean;
  /**
   * Set if the target has fewer version numbers than the pin, such as `1.5` for `1.4.2`. The update then fails, and the
   * error lists the tags in the registry.
   */
  isShort?: true;
}

interface InstalledRelease {
  product: Product;
  /** Newest running version, such as `1.4.2`; null if unknown. */
  runningVersion: string | null;
  /** Prefix of the product's versions; null if unknown. */
  prefix: 'v' | '' | null;
}

/** The part of an update that is determined by tags, for both projects and stacks. */
export interface ReleasePlan {
  installation: InstalledRelease;
  /** Running version as shown in messages: `v1.4.2`, `canary`. */
  from: string;
  /** Version after the update as shown in messages: `v1.5.0`, `2025.8.4`, `canary`, `latest`. */
  to: string;
  target: ReleaseOrCanaryTarget | null;
  /** Null if the target is not a release. */
  release: ReleaseTarget | null;
  prefix: 'v' | '';
  /** The app comes first. */
  updates: readonly ServiceUpdate[];
  app: ServiceUpdate;
  warnings: readonly string[];
}

interface PinnedServices {
  services: readonly Pick<ServiceUpdate, 'pin' | 'shouldPull' | 'trustsLabel'>[];
  from: string;
  /** Target if the user specifies none and no release is pinned. */
  defaultTarget: ReleaseOrCanaryTarget | null;
  nextTag: (pin: Pin, target: ReleaseOrCanaryTarget | null) => TagUpdateResult;
}

/**
 * Plans the new tag of each service (docs/contract.md 3.2).
 * @throws UpdateError no-target, downgrade, pin-unsupported
 */
export function planRelease<I extends InstalledRelease>(
  installation: I,
  pinned: PinnedServices,
  { target: requested }: TargetOption,
): ReleasePlan & { installation: I } {
  const { runningVersion } = installation;
  const { from } = pinned;
  const prefix =
    installation.prefix ?? (requested?.kind === 'release' && requested.tag.startsWith('v') ? 'v' : '');
  const target = planTarget(installation, pinned, requested, prefix);
  const release = target?.kind === 'release' ? target : null;
  const [app, ...workers] = pinned.services.map((each) => planService(each, pinned, target)) as [
    ServiceUpdate,
    ...ServiceUpdate[],
  ];
  const updates = [app, ...workers];
  const to = release ? `${prefix}${release.version}` : (target?.tag ?? app.tag);
  const warnings =
    requested?.kind === 'word' ? [] : updates.flatMap((update) => warnAboutKeptTag(update, app, target));
  // A downgrade is rejected, because migrations only run forward.
  if (release && runningVersion && compareSharedVersionNumbers(release.version, runningVersion) < 0) {
    const message = `${to} is older than the running version ${prefix}${runningVersion}`;
    throw new UpdateError('downgrade', message);
  }
  return { installation, from, target, release, to, prefix, updates, app, warnings };
}

/**
 * Returns the requested target with the product's version prefix. Fails if a release is pinned but no target is
 * requested.
 */
function planTarget(
  { product }: InstalledRelease,
  { services, defaultTarget }: PinnedServices,
  requested: Target | null,
  prefix: string,
): ReleaseOrCanaryTarget | null {
  const pins = services.map(({ pin }) => pin);
  const [app] = pins as [Pin];
  if (requested?.kind === 'canary') return requested;
  if (requested?.kind === 'release')
    return {
      ...requested,
      tag: `${requested.lead ?? ''}${prefix}${requested.version}${requested.suffix ?? ''}`,
    };
  if (requested?.kind === 'unversioned') throw createUnversionedTargetError(pins, requested.tag);
  if (requested?.kind === 'word' && !isPinnedToFloatingTag(app, requested.tag))
    throw createFloatingTagMismatchError(app, requested.tag);
  const pinned = pins.find(({ tag }) => tag.kind === 'release');
  if (pinned?.tag.kind !== 'release') return defaultTarget;
  const message = `${pinned.service} is pinned to ${pinned.tag.text} by ${pinned.location.description}`;
  const advice = `Specify the release with --target ${pinned.tag.prefix}X.Y.Z.`;
  // The general advice mentions the `canary` tag, which only this updater's product has.
  throw new UpdateError('no-target', message, isProductPin(pinned, product) ? {} : { advice });
}

function planService(
  service: PinnedServices['services'][number],
  { services, nextTag }: PinnedServices,
  target: ReleaseOrCanaryTarget | null,
): ServiceUpdate {
  const { pin } = service;
  const next = nextTag(pin, target);
  const tag = next.kind === 'moved' ? next.tag : pin.tag.text;
  const update = { service: pin.service, ...service, tag, to: `${pin.reference.repository}:${tag}` };
  if (target?.kind !== 'release') return update;
  switch (next.kind) {
    case 'moved':
    case 'stays':
      return update;
    case 'short':
      return { ...update, isShort: true };
    case 'older':
      throw createDowngradeError(pin, target);
    case 'variant':
      throw createVariantMismatchError(pin, target);
    case 'unversioned':
      throw createUnversionedPinError(
        pin,
        target,
        services.map((each) => each.pin),
      );
  }
}

/** Warns about a tag that the update neither changes nor compares with the target. The app's tag is always compared. */
function warnAboutKeptTag(
  { service, pin, tag, to }: ServiceUpdate,
  app: ServiceUpdate,
  target: ReleaseOrCanaryTarget | null,
): string[] {
  const { kind, text } = pin.tag;
  const isHeld = target?.kind === 'release' && to === app.to;
  const isTold = (kind === 'other' && !isHeld) || kind === 'unversioned' || target?.kind === 'canary';
  if (tag !== text || !isTold || kind === 'canary') return [];
  return [
    `${service} is pinned to ${tag}, which is not a release tag; the update will keep the tag and pull its image again`,
  ];
}

/**
 * Whether the image is of this updater's product. That product's versions have the prefix `v`, whatever the labels
 * contain.
 */
export const isProductPin = ({ reference }: Pick<Pin, 'reference'>, { name }: Product): boolean =>
  reference.repository.split('/').at(-1) === name;

/** False for a floating tag: only its image changes. */
export const hasTagChange = ({ pin, tag }: ServiceUpdate): boolean => tag !== pin.tag.text;

/** Version in the label of a pulled image; null if the image has no such label, or if the label is not trusted. */
export const labeledVersionOf = ({ trustsLabel }: ServiceUpdate, image: Image | undefined): string | null =>
  trustsLabel ? parseVersionLabel(image?.labels[versionLabel]) : null;

/**
 * Whether the version label contradicts the tag, such as `12.5.0` and `31`. Such a label usually comes from the base
 * image, so all releases of the product have it.
 */
export function hasInheritedVersionLabel(tag: PinTag, labels: Readonly<Record<string, string>>): boolean {
  const version = parseVersionLabel(labels[versionLabel]);
  return isNumberedTag(tag) && version !== null && compareSharedVersionNumbers(version, tag.version) !== 0;
}

/**
 * Rejects a floating tag with an older version, because migrations only run forward.
 * @throws UpdateError downgrade
 */
export function requireNoDowngrade(
  { prefix }: ReleasePlan,
  { to }: ServiceUpdate,
  pulled: string | null,
  running: string | null,
): void {
  if (!pulled || !running || compareSharedVersionNumbers(pulled, running) >= 0) return;
  const message = `${to} points to ${prefix}${pulled}, which is older than the running version ${prefix}${running}`;
  throw new UpdateError('downgrade', message);
}
