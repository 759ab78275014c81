import { parsePinTag } from '../../core/release/pin-tag.ts';
import type { Image } from '../../engine/objects/container.ts';
import { type Recalls, requireNotRecalled } from '../run/release/recalls.ts';
import { checkRequiredRelease, type RunningApp } from './check-required-release.ts';
import { checkStaleTags } from './check-stale-tags.ts';
import type { ReleasePlan } from './release-plan.ts';
import type { TagLookup } from './tag-lookup.ts';

/**
 * Checks that the pulled release is the target, is not recalled, and can be installed over the running release. Returns
 * warnings.
 * @param version - the version label of the app's image
 * @param lookUp - null to skip the check for stale tags: before a pull, and for images of an archive
 * @throws UpdateError recalled, tag-lags, upgrade-step
 */
export async function checkPulledImages(
  plan: ReleasePlan & { recalls: Recalls | null },
  images: ReadonlyMap<string, Image>,
  { version, running, lookUp }: { version: string | null; running: RunningApp; lookUp: TagLookup | null },
): Promise<string[]> {
  const { app, recalls } = plan;
  // The version in a release tag was already checked for a recall before the pull.
  const recalled = parsePinTag(app.tag).kind === 'release' ? [] : requireNotRecalled(recalls, version);
  const stale = lookUp === null ? [] : await checkStaleTags(plan, images, lookUp);
  return [...recalled, ...stale, ...checkRequiredRelease(plan, images.get(app.to), running)];
}
