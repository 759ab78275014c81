import { compareTold } from '../../../core/release/order.ts';
import { isNumbered, parsePinTag } from '../../../core/release/pin-tag.ts';
import { runsImage } from '../../../engine/same-image.ts';
import { and } from '../../run/log/wording.ts';
import { fromWord } from '../inspect/describe.ts';
import type { Move, Plan, PreparedPlan } from './plan.ts';
import { labelledVersion } from './plan-update.ts';

/** The version before the update; the tag if both images have the same version label, which then does not follow the releases. */
export const nameFrom = (plan: PreparedPlan): string =>
  isInherited(plan) ? plan.app.pin.tag.text : fromWord(plan.installation);

/** Whether the new image of a floating tag still has the version label of the running one. */
function isInherited({ app, installation, images, version }: PreparedPlan): boolean {
  const image = images.get(app.to);
  const { containers } = installation.app;
  return (
    !isNumbered(app.pin.tag) &&
    version !== null &&
    version === installation.runningVersion &&
    containers.every((container) => !runsImage(container, image))
  );
}

/** The version of the app after the update; for a floating tag, with the version of its image. */
export const nameReached = (plan: PreparedPlan): string => reachedBy(plan, plan.app, plan.version);

function reachedBy(plan: PreparedPlan, move: Move, version: string | null): string {
  const { targetName, prefix } = plan;
  if (parsePinTag(move.tag).kind === 'release') return targetName;
  const isWrong =
    version === null || isDisproved(plan, move, version) || (move === plan.app && isInherited(plan));
  return !isWrong ? `${move.tag} (${prefix}${version})` : move.tag;
}

/** The version of each service after the update. Services that remain stopped are omitted. */
export function whatRuns(plan: PreparedPlan, stopped: readonly string[] = []): string {
  const moves = plan.moves.filter(({ service }) => !stopped.includes(service));
  const word = (move: Move) => reachedBy(plan, move, versionOf(move, plan));
  return [...Map.groupBy(moves, word)].map(runs).join(', ');
}

/** Warnings if a tag or label differs from the target, once for each image. */
export function versionWarnings(plan: PreparedPlan): string[] {
  const { target, targetName, prefix } = plan;
  if (target?.kind !== 'release') return [];
  const isOther = (move: Move) => {
    const version = versionOf(move, plan);
    return version !== null && compareTold(version, target.version) !== 0;
  };
  const warning = (move: Move) => {
    const found = versionOf(move, plan) ?? '';
    const version = `${prefix}${found}`;
    return floats(move) && !isDisproved(plan, move, found)
      ? `${move.tag}, which is now ${version}, not ${targetName}`
      : `${move.to}, whose label specifies ${version}, not ${targetName}`;
  };
  return [...Map.groupBy(plan.moves.filter(isOther), warning)].map(runs);
}

/** `checkLag` found the image of a floating tag under the target's tag, so its older label is wrong. */
const isDisproved = ({ target, app }: Plan, move: Move, version: string): boolean =>
  (move === app || floats(move)) && target?.kind === 'release' && compareTold(version, target.version) < 0;

const floats = ({ tag }: Move): boolean => ['latest', 'word', 'part'].includes(parsePinTag(tag).kind);

const runs = ([what, moves]: [string, Move[]]): string =>
  `${and(moves.map(({ service }) => service))} ${moves.length > 1 ? 'run' : 'runs'} ${what}`;

function versionOf(move: Move, { references, images }: PreparedPlan): string | null {
  const { service: name, to } = move;
  return labelledVersion(move, images.get(references.get(name) ?? to) ?? images.get(to));
}
