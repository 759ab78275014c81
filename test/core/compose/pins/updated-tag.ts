import type { PinTag } from '../../../../src/core/release/pin-tag.ts';
import { planTagUpdate } from '../../../../src/core/release/plan-tag-update.ts';
import { parseTarget, type ReleaseOrCanaryTarget } from '../../../../src/core/release/target.ts';

/** The updated tag. If the tag is not updated: the target for `latest`, otherwise the old tag. */
export function movedTag(tag: PinTag, target: ReleaseOrCanaryTarget): string {
  const retagged = planTagUpdate(tag, target);
  if (retagged.kind === 'moved') return retagged.tag;
  return tag.kind === 'latest' ? target.tag : tag.text;
}

/** Parses a target, which must be a release or canary. */
export function plannedTarget(text: string): ReleaseOrCanaryTarget {
  const target = parseTarget(text);
  if (target?.kind !== 'release' && target?.kind !== 'canary')
    throw new Error(`${text} is no target of a move`);
  return target;
}
