import type { PinTag } from '../../src/release/pin-tag.ts';
import { retag } from '../../src/release/retag.ts';
import type { Goal } from '../../src/release/target.ts';

/** The tag that an edit is tried with: that of the move, and of what only floats the target itself. */
export function movedTag(tag: PinTag, target: Goal): string {
  const retagged = retag(tag, target);
  if (retagged.kind === 'moved') return retagged.tag;
  return tag.kind === 'latest' ? target.tag : tag.text;
}
