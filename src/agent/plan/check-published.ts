import { remoteDigest } from '../../engine/api/remote-digest.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { countOf } from '../../release/order.ts';
import { isNumbered, parsePinTag } from '../../release/pin-tag.ts';
import { formsOf, styled } from '../../release/retag.ts';
import type { Release } from '../../release/target.ts';
import { and } from '../log/wording.ts';
import { type Move, movesOf, type UpdatePlan } from './plan-update.ts';

/**
 * Holds against the registry what only it can tell of a target before the pull: whether it has the part of a version
 * that a pin is moved to, and whether `6.9` is a release. Where the registry does not tell of a part, the pull will.
 * Refusal: pin-unsupported, with the tags that are there.
 */
export async function checkPublished(engine: Engine, plan: UpdatePlan): Promise<void> {
  const { target } = plan;
  if (target?.kind !== 'release') return;
  // App and worker often come from one image: the first of them is named.
  const byReference = new Map(
    movesOf(plan)
      .map((move) => [move.to, move] as const)
      .toReversed(),
  );
  for (const move of byReference.values()) {
    if (move.isShort) {
      if (!(await isRelease(engine, move))) throw await tooShort(engine, plan, move, target);
      continue;
    }
    const { pin, tag, pull } = move;
    const isNewPart = pull && tag !== pin.tag.text && parsePinTag(tag).kind === 'part';
    if (!isNewPart) continue;
    const { repository } = pin.reference;
    if ((await remoteDigest(engine, { repository, tag })) !== 'none') continue;
    const there = await publishedForms(engine, move, target);
    const others = there.length > 0 ? `; of ${plan.goal} it has ${and(there)}` : '';
    throw new UpdateError('pin-unsupported', `${repository} has no ${tag}${others}`, {
      advice:
        there.length > 0
          ? `Write ${there[0]} by hand (${pin.place.description}), then docker compose pull && docker compose up -d.`
          : 'See that the release is published, then run the update again.',
    });
  }
}

/**
 * Whether the tag that a pin of three numbers is to move to, which has two, is the release `x.y.0` by itself: it is there,
 * and none that it could float to.
 */
async function isRelease(engine: Engine, { tag, pin }: Move): Promise<boolean> {
  const form = parsePinTag(tag);
  if (tag === pin.tag.text || !isNumbered(form)) return false;
  const { repository } = pin.reference;
  const [here, ...others] = await Promise.all(
    ['', '.0', '.1'].map((last) =>
      remoteDigest(engine, { repository, tag: styled(form, `${form.version}${last}`) }),
    ),
  );
  return here !== null && here !== 'none' && others.every((each) => each === 'none');
}

async function tooShort(
  engine: Engine,
  { goal }: UpdatePlan,
  move: Move,
  target: Release,
): Promise<UpdateError> {
  const { service, tag, place, reference } = move.pin;
  const there = await publishedForms(engine, move, target);
  const found = there.length > 0 ? `; ${reference.repository} has ${and(there)}` : '';
  const whole = there
    .map(parsePinTag)
    .find((form) => form.kind === 'release' && form.version !== target.version);
  const example =
    whole?.kind === 'release'
      ? `${whole.prefix}${whole.version}`
      : `${goal}${'.0'.repeat(Math.max(1, 3 - countOf(target.version)))}`;
  return new UpdateError(
    'pin-unsupported',
    `${goal} does not say which release ${service} goes to, which is at ${tag.text} (${place.description})${found}`,
    { advice: `Name the release in full, such as --target ${example}.` },
  );
}

/** The tags of a target that the registry has, in the variant of the pin. */
async function publishedForms(engine: Engine, { pin }: Move, target: Release): Promise<string[]> {
  const { repository } = pin.reference;
  const forms = formsOf(pin.tag, target).filter((form) => form !== pin.tag.text);
  const said = await Promise.all(
    forms.map(async (tag) => {
      const digest = await remoteDigest(engine, { repository, tag });
      return digest !== null && digest !== 'none' ? [tag] : [];
    }),
  );
  return said.flat();
}
