import type { Pin } from '../../core/compose/pin.ts';
import {
  isPinnedTo,
  notPinnedTo,
  noVersion,
  otherVariant,
  partIsNewer,
  unversionedPin,
} from '../../core/compose/refused-target.ts';
import type { Product } from '../../core/progress/product.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { compareTold } from '../../core/release/order.ts';
import { isNumbered, type PinTag, versionOfLabel } from '../../core/release/pin-tag.ts';
import type { NextTag } from '../../core/release/retag.ts';
import type { PlannedTarget, ReleaseTarget, Target } from '../../core/release/target.ts';
import type { Image } from '../../engine/container.ts';
import { versionLabel } from '../../engine/labels.ts';
import type { ReleaseRequest } from '../run/options.ts';

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
interface InstalledRelease {
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
  /** The version after the update as shown in messages: `v1.5.0`, `2025.8.4`, `canary`, `latest`. */
  to: string;
  target: PlannedTarget | null;
  /** The target if it is a release, with which tags, labels and versions are compared. */
  release: ReleaseTarget | null;
  /** The prefix of the product's versions. */
  prefix: 'v' | '';
  /** What is pulled: the planned update of each service, the app first. */
  updates: readonly ServiceUpdate[];
  app: ServiceUpdate;
  warnings: readonly string[];
}

/** The updated services, the app first. */
interface PinnedServices {
  services: readonly Pick<ServiceUpdate, 'pin' | 'pull' | 'trustsLabel'>[];
  /** The running version as shown in messages. */
  from: string;
  /** The target if none is specified and no release is pinned. */
  defaultTarget: PlannedTarget | null;
  nextTag: (pin: Pin, target: PlannedTarget | null) => NextTag;
}

/**
 * Plans the new tag of each service (docs/contract.md 3.2). Changes nothing.
 * Refusals: no-target, downgrade, pin-unsupported.
 */
export function planRelease<I extends InstalledRelease>(
  installation: I,
  pinned: PinnedServices,
  { target: asked }: ReleaseRequest,
): ReleasePlan & { installation: I } {
  const { runningVersion } = installation;
  const { from } = pinned;
  const prefix = installation.prefix ?? (asked?.kind === 'release' && asked.tag.startsWith('v') ? 'v' : '');
  const target = plannedTarget(installation, pinned, asked, prefix);
  const release = target?.kind === 'release' ? target : null;
  const [app, ...workers] = pinned.services.map((each) => planService(each, pinned, target)) as [
    ServiceUpdate,
    ...ServiceUpdate[],
  ];
  const updates = [app, ...workers];
  const to = release ? `${prefix}${release.version}` : (target?.tag ?? app.tag);
  const warnings =
    asked?.kind === 'word' ? [] : updates.flatMap((update) => keptTagWarning(update, app, target));
  // Never plan a downgrade: migrations only run forward.
  if (release && runningVersion && compareTold(release.version, runningVersion) < 0) {
    const message = `${to} is older than the running version ${prefix}${runningVersion}`;
    throw new UpdateError('downgrade', message);
  }
  return { installation, from, target, release, to, prefix, updates, app, warnings };
}

/** The requested target, written as the product writes it. A pinned release needs a target. */
function plannedTarget(
  { product }: InstalledRelease,
  { services, defaultTarget }: PinnedServices,
  asked: Target | null,
  prefix: string,
): PlannedTarget | null {
  const pins = services.map(({ pin }) => pin);
  const [app] = pins as [Pin];
  if (asked?.kind === 'canary') return asked;
  if (asked?.kind === 'release')
    return { ...asked, tag: `${asked.lead ?? ''}${prefix}${asked.version}${asked.suffix ?? ''}` };
  if (asked?.kind === 'unversioned') throw noVersion(pins, asked.tag);
  if (asked?.kind === 'word' && !isPinnedTo(app, asked.tag)) throw notPinnedTo(app, asked.tag);
  const pinned = pins.find(({ tag }) => tag.kind === 'release');
  if (pinned?.tag.kind !== 'release') return defaultTarget;
  const message = `${pinned.service} is pinned to ${pinned.tag.text} by ${pinned.place.description}`;
  const advice = `Specify the release with --target ${pinned.tag.prefix}X.Y.Z.`;
  // Only this product has a `canary` tag.
  throw new UpdateError('no-target', message, isOfProduct(pinned, product) ? {} : { advice });
}

function planService(
  service: PinnedServices['services'][number],
  { services, nextTag }: PinnedServices,
  target: PlannedTarget | null,
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
      throw partIsNewer(pin, target);
    case 'variant':
      throw otherVariant(pin, target);
    case 'unversioned':
      throw unversionedPin(
        pin,
        target,
        services.map((each) => each.pin),
      );
  }
}

/** Warns about tags that are not compared with the target. The app's tag is always compared. */
function keptTagWarning(
  { service, pin, tag, to }: ServiceUpdate,
  app: ServiceUpdate,
  target: PlannedTarget | null,
): string[] {
  const { kind, text } = pin.tag;
  const isHeld = target?.kind === 'release' && to === app.to;
  const isTold = (kind === 'other' && !isHeld) || kind === 'unversioned' || target?.kind === 'canary';
  if (tag !== text || !isTold || kind === 'canary') return [];
  return [
    `${service} is pinned to ${tag}, which is not a release tag; the update will keep the tag and pull its image again`,
  ];
}

/** Of the product that this updater is made for: it writes its versions with a `v`, whatever its labels say. */
export const isOfProduct = ({ reference }: Pick<Pin, 'reference'>, { name }: Product): boolean =>
  reference.repository.split('/').at(-1) === name;

/** Whether the service gets another tag, and not only a new image of a floating one. */
export const changesTag = ({ pin, tag }: ServiceUpdate): boolean => tag !== pin.tag.text;

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
