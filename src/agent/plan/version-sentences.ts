import type { Image } from '../../engine/container.ts';
import { versionLabel } from '../../engine/labels.ts';
import { compareTold } from '../../release/order.ts';
import { parsePinTag, versionOfLabel } from '../../release/pin-tag.ts';
import { and } from '../log/wording.ts';
import type { FilePlan } from './plan-files.ts';
import { type Move, movesOf, type UpdatePlan } from './plan-update.ts';

/** The version of the app after the update; for a floating tag, with the version of its image. */
export function nameReached(plan: UpdatePlan, filePlan: Pick<FilePlan, 'version'>): string {
  return reachedBy(plan, plan.app, filePlan.version);
}

function reachedBy({ targetName, prefix }: UpdatePlan, { tag }: Move, version: string | null): string {
  if (parsePinTag(tag).kind === 'release') return targetName;
  return version ? `${tag} (${prefix}${version})` : tag;
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
    const version = `${prefix}${versionOf(move, filePlan, images)}`;
    return floats(move)
      ? `${move.tag}, which is now ${version}, not ${targetName}`
      : `${move.to}, whose label specifies ${version}, not ${targetName}`;
  };
  return [...Map.groupBy(movesOf(plan).filter(isOther), warning)].map(runs);
}

const floats = ({ tag }: Move): boolean => ['latest', 'word', 'part'].includes(parsePinTag(tag).kind);

const runs = ([what, moves]: [string, Move[]]): string =>
  `${and(moves.map(({ service }) => service))} ${moves.length > 1 ? 'run' : 'runs'} ${what}`;

function versionOf(
  { service: name, to }: Move,
  { references }: FilePlan,
  images: ReadonlyMap<string, Image>,
): string | null {
  const image = images.get(references.get(name) ?? to) ?? images.get(to);
  return versionOfLabel(image?.labels[versionLabel]);
}
