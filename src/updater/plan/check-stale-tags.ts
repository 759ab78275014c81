import { formatTagLocations } from '../../core/compose/pins/pin.ts';
import { UpdateError } from '../../core/errors/update-error.ts';
import { compareSharedVersionNumbers, countVersionNumbers } from '../../core/release/compare-versions.ts';
import { parsePinTag } from '../../core/release/pin-tag.ts';
import { listCompleteVersionTags } from '../../core/release/plan-tag-update.ts';
import type { Image } from '../../engine/objects/container.ts';
import { labeledVersionOf, type ReleasePlan, type ServiceUpdate } from './release-plan.ts';
import type { TagLookup } from './tag-lookup.ts';

/**
 * Updates whose tags may not point to the target. Excludes a worker's tag such as `edge`, because the worker may have
 * its own versions.
 */
export const floatingTagUpdatesOf = ({ release, updates, app }: ReleasePlan): ServiceUpdate[] =>
  release ? updates.filter((update) => mayBeStale(update, app, release.version)) : [];

function mayBeStale(update: ServiceUpdate, app: ServiceUpdate, version: string): boolean {
  const tag = parsePinTag(update.tag);
  switch (tag.kind) {
    case 'release':
      return false;
    case 'part':
      // A tag that has as many numbers as the target identifies the target exactly.
      return countVersionNumbers(version) > countVersionNumbers(tag.version);
    case 'latest':
    case 'word':
      return true;
    case 'canary':
    case 'other':
    case 'unversioned':
      return update === app;
  }
}

/**
 * Checks that floating tags point to the target. Returns a warning if neither the image nor the registry reveals the
 * version.
 * @param images - local images, keyed by reference; missing images are not checked
 * @throws UpdateError tag-lags
 */
export async function checkStaleTags(
  plan: ReleasePlan,
  images: ReadonlyMap<string, Image>,
  lookUp: TagLookup,
): Promise<string[]> {
  const updates = floatingTagUpdatesOf(plan);
  // App and worker often have the same image, which is checked only once.
  const byReference = new Map(updates.map((update) => [update.to, update]));
  const findings = await Promise.all(
    [...byReference.values()].map((update) => compareWithTarget(plan, update, images.get(update.to), lookUp)),
  );
  const [first, ...others] = findings.flatMap((found) => (found?.isStale ? [found.sentence] : []));
  if (first === undefined) return findings.flatMap((found) => found?.sentence ?? []);
  const places = formatTagLocations(updates.map(({ pin }) => pin));
  const advice = `Run {command} again when the tag points to ${plan.to}, or run it without --target to install the image that the tag points to now. If ${plan.to} has its own tag, you can also set that tag manually (${places}).`;
  throw new UpdateError('tag-lags', first, { detail: others, advice });
}

/**
 * Null if the tag points to the target. `sentence` is the text of an error if the tag is stale; otherwise, of a
 * warning.
 */
async function compareWithTarget(
  plan: ReleasePlan,
  update: ServiceUpdate,
  image: Image | undefined,
  lookUp: TagLookup,
): Promise<{ isStale: boolean; sentence: string } | null> {
  const { release, prefix } = plan;
  const { to, tag, pin } = update;
  const version = labeledVersionOf(update, image);
  if (image === undefined || release === null) return null;
  // If the image has a newer version than the target, only a warning is logged, at the end of the run.
  if (version !== null && compareSharedVersionNumbers(version, release.version) >= 0) return null;
  // The older version in the label may come from the base image. If so, a tag of the target has the same digest in the
  // registry.
  const older = version && `${to} points to ${prefix}${version}, not to ${plan.to}`;
  const stale = (otherwise: string) => ({ isStale: true, sentence: older || otherwise });
  const { repository } = pin.reference;
  // The first complete version tag that exists in the registry counts as the tag of the target.
  for (const name of listCompleteVersionTags(pin.tag, release)) {
    const published = await lookUp(repository, name);
    const unknown = `${to} does not specify its version, so it is unknown whether ${tag} points to ${plan.to}`;
    if (published === null) return { isStale: older !== null, sentence: older ?? unknown };
    if (published === 'none') continue;
    const { digest } = published;
    const isTarget = image.digests.some((each) => each.endsWith(`@${digest}`)) || image.id === digest;
    return isTarget ? null : stale(`${to} and ${repository}:${name} point to different images`);
  }
  return stale(
    `${repository} has no tag for ${plan.to}, and the image that ${tag} points to does not specify its version`,
  );
}
