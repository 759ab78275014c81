import { formatTagLocations } from '../../core/compose/pins/pin.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import { requiredReleaseLabelOf } from '../../core/names/product.ts';
import { channelOf } from '../../core/release/channel.ts';
import { compareVersions } from '../../core/release/compare-versions.ts';
import { parsePinTag } from '../../core/release/pin-tag.ts';
import type { TagUpdateResult } from '../../core/release/plan-tag-update.ts';
import { parseTarget, type ReleaseOrCanaryTarget } from '../../core/release/target.ts';
import type { Image } from '../../engine/objects/container.ts';
import { labeledVersionOf, type ReleasePlan } from './release-plan.ts';

export interface RunningApp {
  /** Oldest version of the app's containers. Workers do not count, because only the app migrates the database. */
  oldestVersion: string | null;
  /** Whether the app already runs the pulled image. */
  isInstalled: boolean;
  /** Plans the app's tag for the required release. */
  nextTag: (required: ReleaseOrCanaryTarget) => TagUpdateResult;
}

/**
 * Rejects the pulled release if another release must be installed first. Returns a warning if this cannot be
 * determined.
 * @throws UpdateError upgrade-step, with the required release
 */
export function checkRequiredRelease(
  plan: ReleasePlan,
  image: Image | undefined,
  { oldestVersion: running, isInstalled, nextTag }: RunningApp,
): string[] {
  const { installation, app } = plan;
  const requiresLabel = requiredReleaseLabelOf(installation.product);
  const label = image?.labels[requiresLabel];
  if (isInstalled) return [];
  if (image?.config === null) {
    return [
      `${app.to} was built for another platform, so its labels cannot be read; it is unknown whether another release must be installed first`,
    ];
  }
  if (!label) return [];
  const step = channelOf(label) === 'stable' ? parseTarget(label) : null;
  if (step?.kind !== 'release') {
    return [
      `the label ${requiresLabel}=${label} on ${app.to} does not specify a release; it is unknown whether another release must be installed first`,
    ];
  }
  if (running === null) {
    return [
      `${step.tag} must be installed before ${app.to}; this cannot be checked, because the running version is unknown`,
    ];
  }
  if (compareVersions(running, step.version) >= 0) return [];
  const message = `${step.tag} must be installed before ${app.to}, but the running version is ${plan.prefix}${running}`;
  const pulled = labeledVersionOf(app, image);
  if (pulled !== null && compareVersions(pulled, step.version) <= 0) {
    const contradiction = `${message}; ${app.to} is not newer than the release that it requires`;
    throw new UpdateError('upgrade-step', contradiction, {
      advice: 'The release has an incorrect label. Report this to the publisher.',
    });
  }
  const advice = formatUpgradeAdvice(plan, step.tag, nextTag(step));
  throw new UpdateError('upgrade-step', message, { advice, requiredRelease: step.tag });
}

function formatUpgradeAdvice(
  { app: { pin }, updates, target, to }: ReleasePlan,
  step: string,
  next: TagUpdateResult,
): string {
  const pins = updates.map((update) => update.pin).filter(({ tag }) => tag.text === pin.tag.text);
  const again = target === null ? 'without --target' : `with --target ${to}`;
  if (next.kind === 'moved' && parsePinTag(next.tag).kind === 'release') {
    return `Run the update with --target ${step} first, then run it again ${again}.`;
  }
  // An update never changes a floating tag, so the user must set it manually.
  return `Manually set the tag to ${step} (${formatTagLocations(pins)}), then run the update with --target ${step}. After that, set the tag back to ${pin.tag.text} and run the update ${again}.`;
}
