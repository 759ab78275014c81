import type { Pin } from '../../compose/pin.ts';
import { remoteDigest } from '../../engine/api/remote-digest.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Image } from '../../engine/container.ts';
import { versionLabel } from '../../engine/labels.ts';
import { UpdateError } from '../../progress/update-error.ts';
import { compareTold, countOf } from '../../release/order.ts';
import { parsePinTag, versionOfLabel } from '../../release/pin-tag.ts';
import { wholeForms } from '../../release/retag.ts';
import type { Release } from '../../release/target.ts';
import { type Move, movesOf, type UpdatePlan } from './plan-update.ts';

/** What is known of the image that a tag leads to: `leads` is the sentence of a refusal. */
type Judgement = { leads: string } | { warning: string } | null;

/**
 * Where a release was asked for: the services whose tags do not move to it, and may lead to another one. A worker's own
 * tag, such as `edge`, may be of versions of its own.
 */
export function floatingMoves(plan: UpdatePlan): Move[] {
  const { target } = plan;
  return target?.kind === 'release' ? movesOf(plan).filter((move) => mayLag(move, plan.app, target)) : [];
}

function mayLag(move: Move, app: Move, target: Release): boolean {
  const tag = parsePinTag(move.tag);
  switch (tag.kind) {
    case 'release':
      return false;
    case 'part':
      // Where the target has no more numbers than the tag, this very tag was asked for.
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
 * Holds what tags that do not move lead to against the release that was asked for: what was asked for is what comes, or
 * nothing does. Gives warnings where nobody can tell.
 * @param images local ones by the references of the moves; one that is not here is not judged
 * Refusal: lags.
 */
export async function checkLag(
  engine: Engine,
  plan: UpdatePlan,
  images: ReadonlyMap<string, Image>,
): Promise<string[]> {
  const { target } = plan;
  const moves = floatingMoves(plan);
  if (target?.kind !== 'release') return [];
  // App and worker often come from one image.
  const byReference = new Map(moves.map((move) => [move.to, move]));
  const judged = await Promise.all(
    [...byReference.values()].map((move) => judge(engine, plan, move, images.get(move.to))),
  );
  const found = judged.filter((each) => each !== null);
  const lagging = found.flatMap((each) => ('leads' in each ? [each.leads] : []));
  const [first, ...others] = lagging;
  if (first !== undefined) {
    const places = [...new Set(moves.map(({ pin }) => pin.place.description))].join(', ');
    throw new UpdateError('lags', first, {
      detail: others,
      advice: `Run the update again once that has moved, or without --target to take what it leads to; or pin ${plan.goal}, where it is published (${places}).`,
    });
  }
  return found.flatMap((each) => ('warning' in each ? [each.warning] : []));
}

async function judge(
  engine: Engine,
  { target, goal, prefix }: UpdatePlan,
  { to, tag, pin }: Move,
  image: Image | undefined,
): Promise<Judgement> {
  if (image === undefined || target?.kind !== 'release') return null;
  const version = versionOfLabel(image.labels[versionLabel]);
  if (version !== null) {
    // A newer one is told in the end, by what runs then.
    const isOlder = compareTold(version, target.version) < 0;
    return isOlder ? { leads: `${to} leads to ${prefix}${version}, not to ${goal}` } : null;
  }
  const { repository } = pin.reference;
  const said = await digestOf(engine, pin, target);
  if (said === null) {
    return { warning: `${to} tells no version: whether ${tag} leads to ${goal} is not known` };
  }
  if (said === 'none') return { leads: `${repository} has no ${goal}, and ${tag} tells no version` };
  const isIt = image.digests.some((digest) => digest.endsWith(`@${said.digest}`)) || image.id === said.digest;
  return isIt ? null : { leads: `${to} leads to another image than ${repository}:${said.tag}` };
}

/** What the registry has first of the tags that the target may be published by. Null where it does not tell. */
async function digestOf(
  engine: Engine,
  { tag, reference: { repository } }: Pin,
  target: Release,
): Promise<{ tag: string; digest: string } | 'none' | null> {
  for (const name of wholeForms(tag, target)) {
    const said = await remoteDigest(engine, { repository, tag: name });
    if (said === null) return null;
    if (said !== 'none') return { tag: name, digest: said.digest };
  }
  return 'none';
}
