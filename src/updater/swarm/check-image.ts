import { type Product, requiresLabelOf } from '../../core/progress/product.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { channelOf } from '../../core/release/channel.ts';
import { compareTold, compareVersions } from '../../core/release/order.ts';
import { isNumbered, versionOfLabel } from '../../core/release/pin-tag.ts';
import { parseTarget } from '../../core/release/target.ts';
import type { Image } from '../../engine/container.ts';
import { versionLabel } from '../../engine/labels.ts';
import { checkRecalled } from '../run/recalls.ts';
import type { PlannedStack } from './plan.ts';
import type { StackPlan } from './plan-moves.ts';

/**
 * Checks what only the pulled images can tell: whether a floating tag points to the target, whether its release was recalled,
 * and whether another release must be installed first. Returns warnings. Refusals: tag-lags, downgrade, recalled, upgrade-step.
 */
export function checkImage(
  { plan, recalls }: Pick<PlannedStack, 'plan' | 'recalls'>,
  images: ReadonlyMap<string, Image>,
  product: Product,
): string[] {
  const { target, running, moves, to: goal } = plan;
  for (const { to, tag } of moves) {
    const version = versionOfLabel(images.get(to)?.labels[versionLabel]);
    if (version === null || isNumbered(tag)) continue;
    if (target?.kind === 'release' && compareTold(version, target.version) < 0) {
      throw new UpdateError('tag-lags', `${to} points to ${version}, not to ${goal}`, {
        advice: 'Run {command} again when the tag points to the release, or omit --target.',
      });
    }
    if (running !== null && compareTold(version, running) < 0)
      throw new UpdateError(
        'downgrade',
        `${to} points to ${version}, which is older than the running version ${running}`,
      );
  }
  const [app] = moves;
  const label = images.get(app?.to ?? '')?.labels[versionLabel];
  // A release tag was checked before the pull.
  const recalled = app?.tag.kind === 'release' ? [] : checkRecalled(recalls, versionOfLabel(label));
  return [...recalled, ...checkRequired(plan, images, product)];
}

function checkRequired(
  { running, moves: [app] }: StackPlan,
  images: ReadonlyMap<string, Image>,
  product: Product,
): string[] {
  const label = images.get(app?.to ?? '')?.labels[requiresLabelOf(product)];
  if (!label) return [];
  const step = channelOf(label) === 'stable' ? parseTarget(label) : null;
  if (step?.kind !== 'release' || running === null)
    return [`${label} must be installed before ${app?.to}, but it is unknown whether ${label} was installed`];
  if (compareVersions(running, step.version) >= 0) return [];
  throw new UpdateError(
    'upgrade-step',
    `${step.tag} must be installed before ${app?.to}; the running version is ${running}`,
    {
      requiredRelease: step.tag,
      advice: `Update to ${step.tag} first (--target ${step.tag}), then run this update again.`,
    },
  );
}
