import { placesOf } from '../../../core/compose/pin.ts';
import { UpdateError } from '../../../core/progress/update-error.ts';
import { compareTold, countOf } from '../../../core/release/order.ts';
import { parsePinTag } from '../../../core/release/pin-tag.ts';
import { wholeForms } from '../../../core/release/retag.ts';
import type { ReleaseTarget } from '../../../core/release/target.ts';
import type { Image } from '../../../engine/container.ts';
import { labelledVersion, type Move, movesOf, type UpdatePlan } from './plan-update.ts';
import type { JudgedByTags, Published, PublishedTag } from './published.ts';

/** The result for one tag: an error message, a warning, or a tag to look up in the registry first. */
type Judgement = { lags: string } | { warning: string } | { asks: PublishedTag } | null;

/**
 * The services with tags that may point to a release other than the target. A worker's tag such as `edge` is not
 * checked, because the worker may have its own versions.
 */
export function floatingMoves(plan: UpdatePlan): Move[] {
  const { target } = plan;
  return target?.kind === 'release' ? movesOf(plan).filter((move) => mayLag(move, plan.app, target)) : [];
}

function mayLag(move: Move, app: Move, target: ReleaseTarget): boolean {
  const tag = parsePinTag(move.tag);
  switch (tag.kind) {
    case 'release':
      return false;
    case 'part':
      // A target with no more numbers than the tag is this tag.
      return countOf(target.version) > countOf(tag.version);
    case 'latest':
    case 'word':
      return true;
    case 'canary':
    case 'other':
    case 'unversioned':
      return move === app;
  }
}

/**
 * Checks that floating tags point to the target, so that no other release is installed. Returns a warning if neither
 * the image nor the registry reports the version.
 * @param images local images by reference; missing images are not checked
 * Refusal: tag-lags.
 */
export function checkLag(
  plan: UpdatePlan,
  images: ReadonlyMap<string, Image>,
  published: Published,
): JudgedByTags<string[]> {
  const { target } = plan;
  if (target?.kind !== 'release') return { result: [] };
  const moves = floatingMoves(plan);
  // App and worker often come from one image.
  const byReference = new Map(moves.map((move) => [move.to, move]));
  const found = [...byReference.values()]
    .map((move) => judge(plan, move, images.get(move.to), published))
    .filter((each) => each !== null);
  const asks = found.flatMap((each) => ('asks' in each ? [each.asks] : []));
  if (asks.length > 0) return { asks };
  const [first, ...others] = found.flatMap((each) => ('lags' in each ? [each.lags] : []));
  if (first !== undefined) {
    const places = placesOf(moves.map(({ pin }) => pin));
    throw new UpdateError('tag-lags', first, {
      detail: others,
      advice: `Run the update again when the tag points to ${plan.targetName}, or run it without --target to install the image that the tag points to now. If ${plan.targetName} has its own tag, you can also set that tag manually (${places}).`,
    });
  }
  return { result: found.flatMap((each) => ('warning' in each ? [each.warning] : [])) };
}

function judge(
  { target, targetName, prefix }: UpdatePlan,
  move: Move,
  image: Image | undefined,
  published: Published,
): Judgement {
  if (image === undefined || target?.kind !== 'release') return null;
  const { to, tag, pin } = move;
  const version = labelledVersion(move, image);
  // A newer version only causes a warning at the end of the run.
  if (version !== null && compareTold(version, target.version) >= 0) return null;
  // The label may be inherited from the base image: then the registry has this image as the target.
  const older = version && `${to} points to ${prefix}${version}, not to ${targetName}`;
  const lags = (otherwise: string) => ({ lags: older || otherwise });
  const { repository } = pin.reference;
  // The first of these tags that the registry has is the target.
  for (const name of wholeForms(pin.tag, target)) {
    const said = published.get(`${repository}:${name}`);
    if (said === undefined) return { asks: { repository, tag: name } };
    const unknown = `${to} does not specify its version, so it is unknown whether ${tag} points to ${targetName}`;
    if (said === null) return older ? { lags: older } : { warning: unknown };
    if (said === 'none') continue;
    const isIt = image.digests.some((each) => each.endsWith(`@${said.digest}`)) || image.id === said.digest;
    return isIt ? null : lags(`${to} and ${repository}:${name} point to different images`);
  }
  return lags(
    `${repository} has no tag for ${targetName}, and the image that ${tag} points to does not specify its version`,
  );
}
