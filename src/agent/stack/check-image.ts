import type { Image } from '../../engine/container.ts';
import { versionLabel } from '../../engine/labels.ts';
import { type Product, requiresLabelOf } from '../../progress/product.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { channelOf } from '../../release/channel.ts';
import { compareTold, compareVersions } from '../../release/order.ts';
import { isNumbered, versionOfLabel } from '../../release/pin-tag.ts';
import { parseTarget } from '../../release/target.ts';
import type { PlannedStack } from './plan.ts';

/**
 * What only pulled images tell: whether a tag that floats leads to what was asked for, and whether another release has to
 * come first. Gives warnings. Refusals: lags, downgrade, upgrade-step.
 */
export function checkImage(
  { plan }: PlannedStack,
  images: ReadonlyMap<string, Image>,
  product: Product,
): string[] {
  const { target, running, moves, to: goal } = plan;
  for (const { to, tag } of moves) {
    const version = versionOfLabel(images.get(to)?.labels[versionLabel]);
    if (version === null || isNumbered(tag)) continue;
    if (target?.kind === 'release' && compareTold(version, target.version) < 0) {
      throw new UpdateError('tag-lags', `${to} leads to ${version}, not to ${goal}`, {
        advice: 'Run the update again once the tag has moved, or without --target.',
      });
    }
    if (running !== null && compareTold(version, running) < 0)
      throw new UpdateError(
        'downgrade',
        `${to} leads to ${version}, which is older than ${running}, which runs`,
      );
  }
  const [app] = moves;
  const label = images.get(app?.to ?? '')?.labels[requiresLabelOf(product)];
  if (!label) return [];
  const step = channelOf(label) === 'stable' ? parseTarget(label) : null;
  if (step?.kind !== 'release' || running === null)
    return [`${app?.to} asks for ${label} to come first: whether it has is not known`];
  if (compareVersions(running, step.version) >= 0) return [];
  throw new UpdateError(
    'upgrade-step',
    `${app?.to} can only be updated to from ${step.tag} on, and ${running} runs`,
    {
      requiredRelease: step.tag,
      advice: `Run the update with --target ${step.tag} first, then again.`,
    },
  );
}
