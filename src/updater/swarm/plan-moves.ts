import { parseReference } from '../../core/compose/reference.ts';
import type { Product } from '../../core/progress/product.ts';
import { UpdateError } from '../../core/progress/update-error.ts';
import { compareTold, compareVersions } from '../../core/release/order.ts';
import { isNumbered, type PinTag, parsePinTag } from '../../core/release/pin-tag.ts';
import { retag } from '../../core/release/retag.ts';
import type { PlannedTarget, Target } from '../../core/release/target.ts';
import { imageOf, type SwarmService, type SwarmTask } from '../../engine/swarm.ts';
import { type ChosenStack, writtenImage } from './choose-stack.ts';
import { isAlive } from './tasks.ts';

/** The target of one service, before its digest is known. */
export interface PlannedMove {
  service: SwarmService;
  repository: string;
  /** As a stack file names it today, and as it will. */
  from: string;
  to: string;
  tag: PinTag;
}

export interface StackPlan {
  /** `v1.4.2`, `v1.5.0`, as sentences say it. */
  from: string;
  to: string;
  /** The minimum version of the target; null if no tag contains a version. */
  running: string | null;
  target: PlannedTarget | null;
  /** The app first. */
  moves: readonly PlannedMove[];
}

/**
 * Decides where each service goes; touches nothing. Refusals: no-target, downgrade, pin-unsupported, pin-digest.
 * @param tasks of the services that move: an old one may run beside a spec that is new
 */
export function planMoves(
  { app, workers }: Pick<ChosenStack, 'app' | 'workers'>,
  { target: asked, product, tasks }: { target: Target | null; product: Product; tasks: readonly SwarmTask[] },
): StackPlan {
  const pins = [app, ...workers].map(pinOf);
  const target = plannedTarget(pins, asked);
  const moves = pins.map((pin) => moveOf(pin, target));
  const images = [
    ...[app, ...workers].flatMap((service) => [imageOf(service.spec), writtenImage(service)]),
    ...tasks.filter(isAlive).map(({ image }) => image),
  ];
  const tags = images.map(tagOf);
  const versions = tags.flatMap((tag) => (isNumbered(tag) ? [tag.version] : []));
  const running = versions.sort(compareVersions).at(-1) ?? null;
  const word = (version: string) => `${prefixOf(pins[0] as PlannedPin, product)}${version}`;
  const own = tagOf(imageOf(app.spec));
  const from = isNumbered(own) ? word(own.version) : own.text;
  const to =
    target?.kind === 'release' ? word(target.version) : (target?.tag ?? moves[0]?.to.split(':').at(-1) ?? '');
  // Never plan a downgrade: migrations only run forward.
  if (target?.kind === 'release' && running !== null && compareTold(target.version, running) < 0)
    throw new UpdateError('downgrade', `${to} is older than the running version ${word(running)}`);
  return { from, to, running, target, moves };
}

/** The tag of an image, with a digest or without. */
export const tagOf = (image: string): PinTag => parsePinTag(parseReference(image)?.tag ?? '');

/** A service and its tag of today. */
type PlannedPin = Omit<PlannedMove, 'to'>;

function pinOf(service: SwarmService): PlannedPin {
  const text = writtenImage(service);
  const reference = parseReference(text);
  if (reference === null || reference.tag === null) {
    throw reference?.digest
      ? new UpdateError('pin-digest', `${service.name} is pinned to a digest without a tag (${text})`)
      : new UpdateError('pin-unsupported', `the image used by ${service.name} has no tag (${text})`, {
          advice:
            'Set a release tag such as v1.2.3 in the stack file and deploy the stack, then run {command} again.',
        });
  }
  const { repository, tag } = reference;
  return { service, repository, from: text, tag: parsePinTag(tag) };
}

/** A `word` selects a floating tag. A service pinned to a release tag needs a target. */
function plannedTarget(pins: readonly PlannedPin[], asked: Target | null): PlannedTarget | null {
  const [app] = pins as [PlannedPin];
  switch (asked?.kind) {
    case 'release':
    case 'canary':
      return asked;
    case 'word':
      if (app.tag.text !== asked.tag) throw unsupported(app, `, not ${asked.tag}`);
      return null;
    case 'unversioned':
      throw unsupported(
        app,
        `; ${asked.tag} is not a version, so the updater cannot determine whether it is newer`,
      );
    case undefined: {
      const pinned = pins.find(({ tag }) => isNumbered(tag));
      if (pinned)
        throw new UpdateError(
          'no-target',
          `the stack file pins ${pinned.service.name} to ${pinned.tag.text}`,
        );
      return null;
    }
  }
}

function moveOf(pin: PlannedPin, target: PlannedTarget | null): PlannedMove {
  const { service, repository, tag } = pin;
  const next = target === null ? ({ kind: 'stays' } as const) : retag(tag, target);
  switch (next.kind) {
    case 'moved':
      return { ...pin, to: `${repository}:${next.tag}`, tag: parsePinTag(next.tag) };
    case 'stays':
      return { ...pin, to: `${repository}:${tag.text}` };
    case 'older':
      throw new UpdateError(
        'downgrade',
        `${target?.tag} is older than ${tag.text}, the version of ${service.name}`,
      );
    case 'variant':
      throw unsupported(pin, `; ${target?.tag} is a different image variant`);
    case 'short':
      throw unsupported(pin, `; ${target?.tag} does not specify a full release number`);
    case 'unversioned':
      throw unsupported(pin, ', which is not a version');
  }
}

const unsupported = ({ service, tag }: PlannedPin, why: string): UpdateError =>
  new UpdateError('pin-unsupported', `${service.name} uses the tag ${tag.text}${why}`, {
    advice: 'Set --target to a release tag in the same format, or edit and deploy the stack file manually.',
  });

/** The prefix of the product's versions: as in its tags, `v` for its own images. */
function prefixOf({ repository, tag }: PlannedPin, { name }: Product): string {
  if (repository.split('/').at(-1) === name) return 'v';
  return isNumbered(tag) ? tag.prefix : '';
}
