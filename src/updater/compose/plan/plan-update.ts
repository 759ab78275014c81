import { join } from 'node:path';
import { checkAgainstModel } from '../../../core/compose/find-pin.ts';
import type { Pin } from '../../../core/compose/pin.ts';
import {
  isPinnedTo,
  notPinnedTo,
  noVersion,
  otherVariant,
  partIsNewer,
  unversionedPin,
} from '../../../core/compose/refused-target.ts';
import { UpdateError } from '../../../core/progress/update-error.ts';
import { compareTold, countOf, isMajorChange } from '../../../core/release/order.ts';
import { versionOfLabel } from '../../../core/release/pin-tag.ts';
import { type NextTag, retag } from '../../../core/release/retag.ts';
import type { PlannedTarget, Target } from '../../../core/release/target.ts';
import type { Image } from '../../../engine/container.ts';
import { versionLabel } from '../../../engine/labels.ts';
import {
  type InspectedProject,
  movedServices,
  type PinnedService,
  releaseFileNames,
} from '../inspect/installation.ts';
import { hasOtherLabel, isOfProduct } from '../inspect/running-version.ts';
import type { Move, Plan } from './plan.ts';

/**
 * Plans an update (docs/contract.md 3.2). Changes nothing.
 * Refusals: no-target, downgrade, pin-unsupported.
 */
export function planUpdate(
  installation: InspectedProject,
  asked: Target | null,
): Omit<Plan, 'installation' | 'expected' | 'recalls' | 'given' | 'unconfirmed' | 'point'> {
  const { runningVersion } = installation;
  const prefix = installation.prefix ?? (asked?.kind === 'release' && asked.tag.startsWith('v') ? 'v' : '');
  const target = plannedTarget(installation, asked, prefix);
  const app = planMove(installation, installation.app, target);
  const moves = [app, ...installation.workers.map((worker) => planMove(installation, worker, target))];
  const targetName = target?.kind === 'release' ? `${prefix}${target.version}` : (target?.tag ?? app.tag);
  const warnings = untrustedLabels(installation);
  if (asked?.kind !== 'word') warnings.push(...moves.flatMap((move) => staysThere(move, app, target)));
  if (target?.kind === 'release' && runningVersion) {
    // Never plan a downgrade: migrations only run forward.
    if (compareTold(target.version, runningVersion) < 0) {
      throw new UpdateError(
        'downgrade',
        `${targetName} is older than the running version ${prefix}${runningVersion}`,
      );
    }
    if (isMajorChange(runningVersion, target.version))
      warnings.push(majorAdvice(prefix, runningVersion, target.version));
  }
  return { target, targetName, prefix, moves, app, warnings };
}

/** The planned update of each service, before the plan is made; none if the plan refuses the update. */
export function movesOf(project: InspectedProject, asked: Target | null): readonly Move[] {
  try {
    return planUpdate(project, asked).moves;
  } catch {
    return [];
  }
}

/** The requested target, written as the product writes it. */
function plannedTarget(
  installation: InspectedProject,
  asked: Target | null,
  prefix: string,
): PlannedTarget | null {
  const { pin } = installation.app;
  switch (asked?.kind) {
    case undefined:
      return impliedTarget(installation);
    case 'word':
      if (!isPinnedTo(pin, asked.tag)) throw notPinnedTo(pin, asked.tag);
      return impliedTarget(installation);
    case 'unversioned':
      throw noVersion(pinsOf(installation), asked.tag);
    case 'release':
      return { ...asked, tag: `${asked.lead ?? ''}${prefix}${asked.version}${asked.suffix ?? ''}` };
    case 'canary':
      return asked;
  }
}

function planMove(installation: InspectedProject, moved: PinnedService, target: PlannedTarget | null): Move {
  const { pin, containers } = moved;
  const { service, reference } = pin;
  const model = installation.model.services[service];
  checkAgainstModel(pin, model?.image);
  const retagged = newTag(installation, pin, target);
  const tag = retagged.kind === 'moved' ? retagged.tag : pin.tag.text;
  const to = `${reference.repository}:${tag}`;
  const trustsLabel = !containers.some(hasOtherLabel);
  const move = { service, pin, tag, to, pull: model?.pull_policy !== 'never', trustsLabel };
  if (target?.kind !== 'release') return move;
  switch (retagged.kind) {
    case 'moved':
    case 'stays':
      return move;
    case 'short':
      return { ...move, isShort: true };
    case 'older':
      throw partIsNewer(pin, target);
    case 'variant':
      throw otherVariant(pin, target);
    case 'unversioned':
      throw unversionedPin(pin, target, pinsOf(installation));
  }
}

/** The version that the label of a pulled image specifies; null if there is none, or if it is not trusted. */
export const labelledVersion = ({ trustsLabel }: Move, image: Image | undefined): string | null =>
  trustsLabel ? versionOfLabel(image?.labels[versionLabel]) : null;

function untrustedLabels(installation: InspectedProject): string[] {
  const untrusted = movedServices(installation).flatMap(({ containers }) => containers.filter(hasOtherLabel));
  const sentences = untrusted.map(
    ({ imageReference, labels }) =>
      `the version label of ${imageReference} specifies ${labels[versionLabel]}, which differs from its tag; the updater ignores this label and compares tags`,
  );
  return [...new Set(sentences)];
}

/** Warns about tags that are not compared with the target. The app's tag is always compared. */
function staysThere({ service, pin, tag, to }: Move, app: Move, target: PlannedTarget | null): string[] {
  const { kind, text } = pin.tag;
  const isHeld = target?.kind === 'release' && to === app.to;
  const isTold = (kind === 'other' && !isHeld) || kind === 'unversioned' || target?.kind === 'canary';
  if (tag !== text || !isTold || kind === 'canary') return [];
  return [
    `${service} is pinned to ${tag}, which is not a release tag; the update will keep the tag and pull its image again`,
  ];
}

export const majorAdvice = (prefix: string, from: string, to: string): string =>
  `${prefix}${from} → ${prefix}${to} changes the major version. Back up the database first or use --restore-point; otherwise, the data cannot be restored`;

/** The target if none was specified: canary for a generated install on canary. A pinned release needs a target. */
function impliedTarget(installation: InspectedProject): PlannedTarget | null {
  const pins = pinsOf(installation);
  const pinned = pins.find(({ tag }) => tag.kind === 'release');
  if (pinned?.tag.kind === 'release') {
    throw new UpdateError(
      'no-target',
      `${pinned.service} is pinned to ${pinned.tag.text} by ${pinned.place.description}`,
      // Only this product has a `canary` tag.
      isOfProduct(pinned, installation.product)
        ? {}
        : { advice: `Specify the release with --target ${pinned.tag.prefix}X.Y.Z.` },
    );
  }
  const canary = installation.kind === 'generated' && pins.every((pin) => pin.tag.kind === 'canary');
  return canary ? { kind: 'canary', tag: 'canary' } : null;
}

export const pinsOf = (installation: InspectedProject): Pin[] =>
  movedServices(installation).map(({ pin }) => pin);

/** The new tag of a pin for a target. */
export function newTag(installation: InspectedProject, pin: Pin, target: PlannedTarget | null): NextTag {
  if (target === null) return { kind: 'stays' };
  if (installation.kind === 'generated' && !isOverride(installation, pin)) {
    if (target.kind === 'release' && target.lead !== undefined) return { kind: 'variant' };
    const isShort = target.kind === 'release' && countOf(target.version) < 3;
    return isShort ? { kind: 'short' } : { kind: 'moved', tag: target.tag };
  }
  return retag(pin.tag, target);
}

/** Whether a generated install is pinned in a user's file, which releases do not overwrite. */
export function isOverride(installation: InspectedProject, pin: Pin): boolean {
  if (pin.place.kind === 'variable') return pin.place.variable !== installation.versionVariable;
  const { directory } = installation.project;
  return !releaseFileNames.map((name) => join(directory, name)).includes(pin.place.file);
}
