import type { Image } from '../../engine/container.ts';
import { versionLabel } from '../../engine/labels.ts';
import { compareTold } from '../../release/order.ts';
import { parsePinTag, versionOfLabel } from '../../release/pin-tag.ts';
import { and } from '../log/wording.ts';
import type { FilePlan } from './plan-files.ts';
import { type Move, movesOf, type UpdatePlan } from './plan-update.ts';

/** What the app runs in the end; beside a floating tag the version that its image tells. */
export function nameReached(plan: UpdatePlan, filePlan: Pick<FilePlan, 'version'>): string {
  const { tag } = plan.app;
  if (parsePinTag(tag).kind === 'release') return plan.targetName;
  return filePlan.version ? `${tag} (${plan.prefix}${filePlan.version})` : tag;
}

/**
 * What each service runs in the end: `app and worker run v1.5.0`, or one after the other where they differ. A service that
 * stays stopped is left out.
 */
export function whatRuns(
  plan: UpdatePlan,
  filePlan: FilePlan,
  images: ReadonlyMap<string, Image>,
  stopped: readonly string[] = [],
): string {
  const byWord = new Map<string, string[]>();
  for (const move of movesOf(plan)) {
    if (stopped.includes(move.service)) continue;
    const version = versionOf(move, filePlan, images);
    const floating = version ? `${move.tag} (${plan.prefix}${version})` : move.tag;
    const word = parsePinTag(move.tag).kind === 'release' ? plan.targetName : floating;
    byWord.set(word, [...(byWord.get(word) ?? []), move.service]);
  }
  return [...byWord].map(([word, names]) => `${and(names)} ${runs(names)} ${word}`).join(', ');
}

/** Where a floating tag or a label says something else than was asked for, once for each image. */
export function versionWarnings(
  plan: UpdatePlan,
  filePlan: FilePlan,
  images: ReadonlyMap<string, Image>,
): string[] {
  const { target, targetName, prefix } = plan;
  if (target?.kind !== 'release') return [];
  const byWarning = new Map<string, string[]>();
  for (const move of movesOf(plan)) {
    const version = versionOf(move, filePlan, images);
    if (!version || compareTold(version, target.version) === 0) continue;
    const warning = floats(move)
      ? `${move.tag}, which is ${prefix}${version} by now, not ${targetName}`
      : `${move.to}, which says it is ${prefix}${version}, not ${targetName}`;
    byWarning.set(warning, [...(byWarning.get(warning) ?? []), move.service]);
  }
  return [...byWarning].map(([warning, names]) => `${and(names)} ${runs(names)} ${warning}`);
}

const floats = ({ tag }: Move): boolean => ['latest', 'word', 'part'].includes(parsePinTag(tag).kind);

const runs = (names: readonly string[]): string => (names.length > 1 ? 'run' : 'runs');

function versionOf(
  { service: name, to }: Move,
  { references }: FilePlan,
  images: ReadonlyMap<string, Image>,
): string | null {
  const image = images.get(references.get(name) ?? to) ?? images.get(to);
  return versionOfLabel(image?.labels[versionLabel]);
}
