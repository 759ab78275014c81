import { placesOf } from '../../../core/compose/pin.ts';
import { UpdateError } from '../../../core/progress/update-error.ts';
import { countOf } from '../../../core/release/order.ts';
import { isNumbered, parsePinTag, suffixOf } from '../../../core/release/pin-tag.ts';
import { formsOf } from '../../../core/release/retag.ts';
import type { ReleaseTarget } from '../../../core/release/target.ts';
import { and } from '../../run/log/wording.ts';
import type { Move, Plan } from './plan.ts';
import { isPublished, type JudgedByTags, type Published, type PublishedTag, unasked } from './published.ts';

/**
 * Checks in the registry, before the pull, that it has the partial version that a pin changes to. For a target with too
 * few numbers, finds the tags of the target.
 * Refusal: pin-unsupported, with the available tags.
 */
export function checkPublished(plan: Plan, published: Published): JudgedByTags<null> {
  const { target } = plan;
  if (target?.kind !== 'release') return { result: null };
  // App and worker often use the same image: only the first is reported.
  const byReference = new Map(plan.moves.toReversed().map((move) => [move.to, move] as const));
  const asks = [...byReference.values()].flatMap((move) => judge(plan, move, target, published));
  return asks.length > 0 ? { asks } : { result: null };
}

/** Checks one pin. Returns the tags to look up first. */
function judge(plan: Plan, move: Move, target: ReleaseTarget, published: Published): readonly PublishedTag[] {
  const { pin, tag, to, pull, isShort = false } = move;
  const { repository } = pin.reference;
  if (!isShort) {
    // Other tags are checked by the pull.
    const mayBeMissing = parsePinTag(tag).kind === 'part' || /\d/.test(suffixOf(pin.tag));
    if (tag === pin.tag.text || !mayBeMissing || !pull) return [];
    const asks = unasked(published, repository, [tag]);
    if (asks.length > 0) return asks;
    // If the registry does not answer, the pull decides.
    if (published.get(to) !== 'none') return [];
  }
  const forms = formsOf(pin.tag, target).filter((each) => each !== pin.tag.text);
  const asks = unasked(published, repository, forms);
  if (asks.length > 0) return asks;
  const there = forms.filter((each) => isPublished(published, repository, each));
  throw isShort ? unclear(plan, move, target, there) : unpublished(plan, move, there);
}

/** @param there the tags of the target that the registry has */
function unpublished(plan: Plan, { pin, tag }: Move, there: readonly string[]): UpdateError {
  const { targetName } = plan;
  // A tag with fewer numbers than the pin may point to another release.
  const own = there.find((each) => numbersIn(each) >= numbersIn(pin.tag.text));
  const pins = plan.moves.flatMap((move) => (move.tag === move.pin.tag.text ? [] : [move.pin]));
  const others = own ? `; ${targetName} is published as ${and(there)}` : '';
  return new UpdateError('pin-unsupported', `${pin.reference.repository} has no tag ${tag}${others}`, {
    advice: own
      ? `Set the tag ${own} manually (${placesOf(pins)}), then run {compose} pull && {up}.`
      : 'Check that the release is published, then run {command} again.',
  });
}

function numbersIn(text: string): number {
  const tag = parsePinTag(text);
  return isNumbered(tag) ? countOf(tag.version) : 0;
}

function unclear(
  { targetName }: Plan,
  { pin }: Move,
  target: ReleaseTarget,
  there: readonly string[],
): UpdateError {
  const found = there.length > 0 ? `; ${pin.reference.repository} has ${and(there)}` : '';
  const whole = there
    .map(parsePinTag)
    .find((each) => each.kind === 'release' && each.version !== target.version);
  const example =
    whole?.kind === 'release'
      ? `${whole.prefix}${whole.version}`
      : `${targetName}${'.0'.repeat(Math.max(1, 3 - countOf(target.version)))}`;
  return new UpdateError(
    'pin-unsupported',
    `${targetName} does not identify a single release for ${pin.service}, which is pinned to ${pin.tag.text} (${pin.place.description})${found}`,
    { advice: `Specify the full version, such as --target ${example}.` },
  );
}
