import { compareTold } from '../../../core/release/order.ts';
import { parsePinTag } from '../../../core/release/pin-tag.ts';
import type { Image } from '../../../engine/container.ts';
import { and } from '../../run/log/wording.ts';
import type { FilePlan } from './plan-files.ts';
import { labelledVersion, type Move, movesOf, type UpdatePlan } from './plan-update.ts';

/** The version of the app after the update; for a floating tag, with the version of its image. */
export function nameReached(plan: UpdatePlan, filePlan: Pick<FilePlan, 'version'>): string {
  return reachedBy(plan, plan.app, filePlan.version);
}

function reachedBy(plan: UpdatePlan, move: Move, version: string | null): string {
  const { targetName, prefix } = plan;
  if (parsePinTag(move.tag).kind === 'release') return targetName;
  return version && !isDisproved(plan, move, version) ? `${move.tag} (${prefix}${version})` : move.tag;
}

/** The version of each service after the update. Services that remain stopped are omitted. */
export function whatRuns(
  plan: UpdatePlan,
  filePlan: FilePlan,
  images: ReadonlyMap<string, Image>,
  stopped: readonly string[] = [],
): string {
  const moves = movesOf(plan).filter(({ service }) => !stopped.includes(service));
  const word = (move: Move) => reachedBy(plan, move, versionOf(move, filePlan, images));
  return [...Map.groupBy(moves, word)].map(runs).join(', ');
}

/** Warnings if a tag or label differs from the target, once for each image. */
export function versionWarnings(
  plan: UpdatePlan,
  filePlan: FilePlan,
  images: ReadonlyMap<string, Image>,
): string[] {
  const { target, targetName, prefix } = plan;
  if (target?.kind !== 'release') return [];
  const isOther = (move: Move) => {
    const version = versionOf(move, filePlan, images);
    return version !== null && compareTold(version, target.version) !== 0;
  };
  const warning = (move: Move) => {
    const found = versionOf(move, filePlan, images) ?? '';
    const version = `${prefix}${found}`;
    return floats(move) && !isDisproved(plan, move, found)
      ? `${move.tag}, which is now ${version}, not ${targetName}`
      : `${move.to}, whose label specifies ${version}, not ${targetName}`;
  };
  return [...Map.groupBy(movesOf(plan).filter(isOther), warning)].map(runs);
}

/** `checkLag` found the image of a floating tag under the target's tag, so its older label is wrong. */
const isDisproved = ({ target, app }: UpdatePlan, move: Move, version: string): boolean =>
  (move === app || floats(move)) && target?.kind === 'release' && compareTold(version, target.version) < 0;

const floats = ({ tag }: Move): boolean => ['latest', 'word', 'part'].includes(parsePinTag(tag).kind);

const runs = ([what, moves]: [string, Move[]]): string =>
  `${and(moves.map(({ service }) => service))} ${moves.length > 1 ? 'run' : 'runs'} ${what}`;

function versionOf(move: Move, { references }: FilePlan, images: ReadonlyMap<string, Image>): string | null {
  const { service: name, to } = move;
  return labelledVersion(move, images.get(references.get(name) ?? to) ?? images.get(to));
}
