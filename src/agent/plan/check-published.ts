import { UpdateError } from '../../progress/update-error.ts';
import { countOf } from '../../release/order.ts';
import { isNumbered, parsePinTag } from '../../release/pin-tag.ts';
import { formsOf, styled } from '../../release/retag.ts';
import type { ReleaseTarget } from '../../release/target.ts';
import { and } from '../log/wording.ts';
import { type Move, movesOf, type UpdatePlan } from './plan-update.ts';
import { isPublished, type JudgedByTags, type Published, type PublishedTag, unasked } from './published.ts';

/**
 * Judges by what the registry has whether a target can be reached, as far as only the registry can tell before the pull:
 * whether it has the part of a version that a pin is moved to, and whether `6.9` is a release. Where it does not tell of a
 * part, the pull will.
 * Refusal: pin-unsupported, with the tags that are there.
 */
export function checkPublished(plan: UpdatePlan, published: Published): JudgedByTags<null> {
  const { target } = plan;
  if (target?.kind !== 'release') return { result: null };
  // App and worker often come from one image: the first of them is named.
  const byReference = new Map(
    movesOf(plan)
      .map((move) => [move.to, move] as const)
      .toReversed(),
  );
  const asks = [...byReference.values()].flatMap((move) =>
    move.isShort ? checkShort(plan, move, target, published) : checkPart(plan, move, target, published),
  );
  return asks.length > 0 ? { asks } : { result: null };
}

/** Gives the tags to be asked for before it can be judged whether the part that the pin moves to is published. */
function checkPart(
  { targetName }: UpdatePlan,
  move: Move,
  target: ReleaseTarget,
  published: Published,
): readonly PublishedTag[] {
  const { pin, tag, pull, to } = move;
  if (!pull || tag === pin.tag.text || parsePinTag(tag).kind !== 'part') return [];
  const { repository } = pin.reference;
  const asks = unasked(published, repository, [tag]);
  if (asks.length > 0 || published.get(to) !== 'none') return asks;
  const forms = formsBeside(move, target);
  const more = unasked(published, repository, forms);
  if (more.length > 0) return more;
  const there = forms.filter((form) => isPublished(published, repository, form));
  const others = there.length > 0 ? `; of ${targetName} it has ${and(there)}` : '';
  throw new UpdateError('pin-unsupported', `${repository} has no ${tag}${others}`, {
    advice:
      there.length > 0
        ? `Write ${there[0]} by hand (${pin.place.description}), then docker compose pull && docker compose up -d.`
        : 'See that the release is published, then run the update again.',
  });
}

/**
 * Judges whether the tag that a pin of three numbers is to move to, which has two, is the release `x.y.0` by itself: it is
 * there, and none that it could float to. Gives the tags to be asked for first.
 */
function checkShort(
  { targetName }: UpdatePlan,
  move: Move,
  target: ReleaseTarget,
  published: Published,
): readonly PublishedTag[] {
  const { tag, pin } = move;
  const { repository } = pin.reference;
  const form = parsePinTag(tag);
  if (tag !== pin.tag.text && isNumbered(form)) {
    const beside = ['.0', '.1'].map((last) => styled(form, `${form.version}${last}`));
    const asks = unasked(published, repository, [tag, ...beside]);
    if (asks.length > 0) return asks;
    const floats = beside.some((each) => published.get(`${repository}:${each}`) !== 'none');
    if (isPublished(published, repository, tag) && !floats) return [];
  }
  const forms = formsBeside(move, target);
  const more = unasked(published, repository, forms);
  if (more.length > 0) return more;
  const there = forms.filter((each) => isPublished(published, repository, each));
  const found = there.length > 0 ? `; ${repository} has ${and(there)}` : '';
  const whole = there
    .map(parsePinTag)
    .find((each) => each.kind === 'release' && each.version !== target.version);
  const example =
    whole?.kind === 'release'
      ? `${whole.prefix}${whole.version}`
      : `${targetName}${'.0'.repeat(Math.max(1, 3 - countOf(target.version)))}`;
  throw new UpdateError(
    'pin-unsupported',
    `${targetName} does not say which release ${pin.service} goes to, which is at ${pin.tag.text} (${pin.place.description})${found}`,
    { advice: `Name the release in full, such as --target ${example}.` },
  );
}

/** The tags that a target may be published by in the variant of the pin, but for the pin's own. */
const formsBeside = ({ pin }: Move, target: ReleaseTarget): string[] =>
  formsOf(pin.tag, target).filter((form) => form !== pin.tag.text);
