import { commandLabelOf, commandOf } from '../../../core/progress/product.ts';
import type { Image } from '../../../engine/container.ts';
import type { Plan } from './plan.ts';
import { releaseLabel } from './release-label.ts';

type Kind = 'ready' | 'preflight';
type Command = readonly string[];

/** A command of the pulled release, from a label of its app image or from the product's record; null if it has none. */
export const releaseCommand = (plan: Plan, image: Image | undefined, kind: Kind): Command | null =>
  labelled(plan, image, kind) ?? plan.installation.product[kind] ?? null;

/** Labels that contain no command. */
export const commandWarnings = (plan: Plan, image: Image | undefined): string[] =>
  (['ready', 'preflight'] as const)
    .filter((kind) => labelled(plan, image, kind) === undefined)
    .map(
      (kind) =>
        `the label ${commandLabelOf(plan.installation.product, kind)} on ${plan.app.to} is ignored: it must be a JSON list of 1 to 64 strings, such as ["/app/${kind}"]`,
    );

/** Null without a label, undefined if it contains no command. */
function labelled(plan: Plan, image: Image | undefined, kind: Kind): Command | null | undefined {
  const text = releaseLabel(plan, image, commandLabelOf(plan.installation.product, kind));
  return text === null ? null : commandOf(text);
}
