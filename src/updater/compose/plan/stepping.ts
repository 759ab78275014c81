import { placesOf } from '../../../core/compose/pin.ts';
import { requiresLabelOf } from '../../../core/progress/product.ts';
import { UpdateError } from '../../../core/progress/update-error.ts';
import { channelOf } from '../../../core/release/channel.ts';
import { compareVersions } from '../../../core/release/order.ts';
import { parsePinTag } from '../../../core/release/pin-tag.ts';
import { type PlannedTarget, parseTarget } from '../../../core/release/target.ts';
import type { Image } from '../../../engine/container.ts';
import { runsImage } from '../../../engine/same-image.ts';
import type { Installation } from '../inspect/installation.ts';
import { runningVersions } from '../inspect/running-version.ts';
import { labelledVersion, newTag, pinsOf, type UpdatePlan } from './plan-update.ts';

/**
 * Checks whether another release must be installed before the pulled one. Returns warnings if this is unknown.
 * Refusal: upgrade-step, with the required release.
 */
export function checkStepping(
  installation: Installation,
  plan: UpdatePlan,
  images: ReadonlyMap<string, Image>,
): string[] {
  const { app } = plan;
  const image = images.get(app.to);
  const requiresLabel = requiresLabelOf(installation.product);
  const label = image?.labels[requiresLabel];
  // The containers already run this image.
  if (installation.app.containers.every((container) => runsImage(container, image))) return [];
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
  // The app migrates the database, so its oldest container counts, not a newer worker.
  const running = runningVersions(installation.app.containers)[0] ?? installation.runningVersion;
  if (running === null) {
    return [
      `${step.tag} must be installed before ${app.to}; this cannot be checked, because the running version is unknown`,
    ];
  }
  if (compareVersions(running, step.version) >= 0) return [];
  const message = `${step.tag} must be installed before ${app.to}, but the running version is ${plan.prefix}${running}`;
  const pulled = labelledVersion(app, image);
  if (pulled !== null && compareVersions(pulled, step.version) <= 0) {
    throw new UpdateError('upgrade-step', `${message}; the required release is not older than ${app.to}`, {
      advice: 'The release has an incorrect label. Report this to the publisher.',
    });
  }
  throw new UpdateError('upgrade-step', message, {
    advice: adviceTo(installation, plan, step),
    requiredRelease: step.tag,
  });
}

/** The commands for the required release and then for the target. */
function adviceTo(installation: Installation, plan: UpdatePlan, step: PlannedTarget): string {
  const { pin } = installation.app;
  const places = placesOf(pinsOf(installation).filter(({ tag }) => tag.text === pin.tag.text));
  const again = plan.target === null ? 'without --target' : `with --target ${plan.targetName}`;
  const next = newTag(installation, pin, step);
  if (next.kind === 'moved' && parsePinTag(next.tag).kind === 'release') {
    return `Run the update with --target ${step.tag} first, then run it again ${again}.`;
  }
  // A floating pin is only pulled again, regardless of the target.
  return `Set the tag ${step.tag} manually (${places}) and run the update with --target ${step.tag}. Then change the tag back to ${pin.tag.text} and run the update ${again}.`;
}
