import { join } from 'node:path';
import { checkAgainstModel } from '../../compose/find-pin.ts';
import type { Pin } from '../../compose/pin.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { compareVersions, isMajorChange } from '../../release/order.ts';
import { retag, type Target } from '../../release/tag.ts';
import { type Installation, movedServices, releaseFileNames } from '../inspect/installation.ts';

/** Where one service goes. */
export interface Move {
  service: string;
  pin: Pin;
  /** The new tag; the old one where the pin floats and is only pulled again. */
  tag: string;
  /** The image to pull, by tag and never by digest: the digest of the new release is only known then. */
  to: string;
  /** False for `pull_policy: never`: what is local counts. */
  pull: boolean;
}

/** The first half of a plan: all that can be known before anything is pulled. */
export interface UpdatePlan {
  target: Target | null;
  app: Move;
  workers: readonly Move[];
  /** What the run moves to, in a word: `v1.5.0`, `canary`, `latest`. */
  goal: string;
  warnings: readonly string[];
}

/** Where each service goes, the app first. */
export const movesOf = ({ app, workers }: UpdatePlan): Move[] => [app, ...workers];

/**
 * Decides what an update does (docs/contract.md 3.2); touches nothing.
 * Refusals: no-target, downgrade, pin-unsupported.
 */
export function planUpdate(installation: Installation, asked: Target | null): UpdatePlan {
  const { runningVersion } = installation;
  const target = asked ?? impliedTarget(installation);
  const app = planMove(installation, installation.app.pin, target);
  const workers = installation.workers.map(({ pin }) => planMove(installation, pin, target));
  const warnings = [app, ...workers].flatMap(staysAtOther);
  if (target?.kind === 'release' && runningVersion) {
    // Never plan a downgrade: migrations only run forward.
    if (compareVersions(target.version, runningVersion) < 0) {
      throw new UpdateError('downgrade', `${target.tag} is older than v${runningVersion}, which runs`);
    }
    if (isMajorChange(runningVersion, target.version))
      warnings.push(majorAdvice(runningVersion, target.version));
  }
  return { target, app, workers, goal: target?.tag ?? app.tag, warnings };
}

function planMove(installation: Installation, pin: Pin, target: Target | null): Move {
  const { service, reference } = pin;
  const model = installation.model.services[service];
  checkAgainstModel(pin, model?.image);
  const tag = newTag(installation, pin, target);
  const to = `${reference.repository}:${tag}`;
  return { service, pin, tag, to, pull: model?.pull_policy !== 'never' };
}

const staysAtOther = ({ service, pin, tag }: Move): string[] =>
  pin.tag.kind === 'other' && tag === pin.tag.text
    ? [`${service} is at ${tag}, which is no release tag: it is pulled again and stays there`]
    : [];

export const majorAdvice = (from: string, to: string): string =>
  `v${from} → v${to} changes the major version: dump the database first, there is no way back`;

/** A generated install on canary stays on canary; where a release tag pins, somebody must say where to go. */
function impliedTarget(installation: Installation): Target | null {
  const pins = movedServices(installation).map(({ pin }) => pin);
  const pinned = pins.find((pin) => pin.tag.kind === 'release');
  if (pinned) {
    throw new UpdateError(
      'no-target',
      `${pinned.service} is pinned to ${pinned.tag.text} by ${pinned.place.description}`,
    );
  }
  const canary = installation.kind === 'generated' && pins.every((pin) => pin.tag.kind === 'canary');
  return canary ? { kind: 'canary', tag: 'canary' } : null;
}

/** The tag that a target leads to where this pin decides; the same one where the pin floats and stays. */
export function newTag(installation: Installation, pin: Pin, target: Target | null): string {
  const { tag } = pin;
  if (target === null) return tag.text;
  if (installation.kind === 'generated' && !isOverride(installation, pin)) return target.tag;
  switch (tag.kind) {
    case 'release':
      return retag(tag, target);
    case 'canary':
      return target.kind === 'release' ? retag(tag, target) : tag.text;
    case 'latest':
      return target.kind === 'canary' ? retag(tag, target) : tag.text;
    case 'other':
      return tag.text;
  }
}

/** Whether a generated install is pinned by a file of the user's own, which the release does not overwrite. */
export function isOverride(installation: Installation, pin: Pin): boolean {
  if (pin.place.kind === 'variable') return pin.place.variable !== installation.versionVariable;
  const { directory } = installation.project;
  return !releaseFileNames.map((name) => join(directory, name)).includes(pin.place.file);
}
