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
import type { NextTag } from '../../core/release/retag.ts';
import type { PlannedTarget, Target } from '../../core/release/target.ts';
import type { InstalledRelease, ReleasePlan, ServiceUpdate } from './release-plan.ts';

/** The updated services, the app first. */
export interface PinnedServices {
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
  asked: Target | null,
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
  const targetName = release ? `${prefix}${release.version}` : (target?.tag ?? app.tag);
  const warnings =
    asked?.kind === 'word' ? [] : updates.flatMap((update) => keptTagWarning(update, app, target));
  // Never plan a downgrade: migrations only run forward.
  if (release && runningVersion && compareTold(release.version, runningVersion) < 0) {
    const message = `${targetName} is older than the running version ${prefix}${runningVersion}`;
    throw new UpdateError('downgrade', message);
  }
  return { installation, from, target, release, targetName, prefix, updates, app, warnings };
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
