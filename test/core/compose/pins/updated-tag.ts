import type { PinTag } from '../../../../src/core/release/pin-tag.ts';
import { planTagUpdate } from '../../../../src/core/release/plan-tag-update.ts';
import { type PlannedTarget, parseTarget } from '../../../../src/core/release/target.ts';

/** The tag that an edit is tried with: that of the move, and of what only floats the target itself. */
export function movedTag(tag: PinTag, target: PlannedTarget): string {
  const retagged = planTagUpdate(tag, target);
  if (retagged.kind === 'moved') return retagged.tag;
  return tag.kind === 'latest' ? target.tag : tag.text;
}

/** The target of a move, which must be one that tags can be moved to. */
export function plannedTarget(text: string): PlannedTarget {
  const target = parseTarget(text);
  if (target?.kind !== 'release' && target?.kind !== 'canary')
    throw new Error(`${text} is no target of a move`);
  return target;
}
