import { compareTold, countOf, cutVersion } from './order.ts';
import { beforeVersion, isNumbered, type PinTag, suffixOf } from './pin-tag.ts';
import type { NumberedTag } from './tag.ts';
import type { PlannedTarget, ReleaseTarget } from './target.ts';

/** What becomes of a tag when its product goes to a target. */
export type NextTag =
  | { kind: 'moved'; tag: string }
  /** It floats, or covers the target as it is. */
  | { kind: 'stays' }
  /** The pin's part of a version, `2025.10`, is newer than the target. */
  | { kind: 'older' }
  /** The target names another variant than the pin's. */
  | { kind: 'variant' }
  /** The target has fewer numbers than the pin needs. */
  | { kind: 'short' }
  /** The pin has no version that could be moved. */
  | { kind: 'unversioned' };

/** Written the way the old one is (docs/contract.md 3.2); a tag of another shape stays as it is. */
export function retag(tag: PinTag, target: PlannedTarget): NextTag {
  if (target.kind === 'canary') {
    const moves = tag.kind === 'release' || tag.kind === 'latest' || tag.kind === 'canary';
    return moves ? { kind: 'moved', tag: target.tag } : { kind: 'stays' };
  }
  if (tag.kind === 'unversioned') return { kind: 'unversioned' };
  const { suffix = '', version, lead } = target;
  if (lead !== undefined && (!isNumbered(tag) || lead !== tag.lead)) return { kind: 'variant' };
  if (tag.kind === 'canary') return { kind: 'moved', tag: target.tag };
  const isOfPin = tag.kind === 'release' || suffixOf(tag) !== '' || tag.kind === 'part';
  if (suffix !== '' && isOfPin && suffix !== suffixOf(tag)) return { kind: 'variant' };
  if (!isNumbered(tag)) return { kind: 'stays' };
  if (tag.kind === 'part' && compareTold(version, tag.version) < 0) return { kind: 'older' };
  const count = countOf(tag.version);
  if (countOf(version) < count) return { kind: 'short' };
  if (tag.kind === 'release') return { kind: 'moved', tag: styled(tag, version) };
  const part = cutVersion(version, count);
  return compareTold(part, tag.version) === 0 ? { kind: 'stays' } : { kind: 'moved', tag: styled(tag, part) };
}

/** A version as a pin writes it. */
export const styled = (tag: NumberedTag, version: string): string =>
  `${beforeVersion(tag)}${version}${tag.suffix}`;

/**
 * The tags that a target may be published by as it was given, in the variant of a pin: with a `v` and without. `apache`
 * is a variant by itself, or somebody's own word: then they have none. Behind `release-` float parts of what is
 * published without that word.
 */
export function wholeForms(tag: PinTag, { version, suffix = '' }: ReleaseTarget): string[] {
  const own = suffixOf(tag) || suffix;
  const forms = (lead: string, behind: string) =>
    (isNumbered(tag) && tag.prefix === '' ? ['', 'v'] : ['v', '']).map(
      (prefix) => `${lead}${prefix}${version}${behind}`,
    );
  if (tag.kind === 'other' && own === '') return [...forms('', `-${tag.text}`), ...forms('', '')];
  if (!isNumbered(tag) || !tag.lead) return forms('', own);
  return [...forms(tag.lead, own), ...(tag.kind === 'part' ? forms('', own) : [])];
}

/**
 * Variants that a later release may have in place of one with a number: `-alpine3.21` and `-alpine` after `-alpine3.20`, `-p1`
 * and none after `-p2`. The engine cannot list the tags of a registry.
 */
function otherVariants(suffix: string): string[] {
  const [, before = '', number = '', after = ''] = /^(.*?)(\d{1,4})(\D*)$/.exec(suffix) ?? [];
  if (number === '') return [];
  const later = [1, 2, 3, 4, 5].map((more) => Number(number) + more);
  const numbered = [...later, 0, 1].map((each) => `${before}${each}${after}`);
  return [...numbered, `${before.replace(/[\d.]+$/, '')}${after}`, ''].filter((each) => each !== suffix);
}

/** All tags that a target may be published by: whole first, then its parts, then other variants. */
export function formsOf(tag: PinTag, target: ReleaseTarget): string[] {
  const { version } = target;
  const variants = isNumbered(tag)
    ? otherVariants(tag.suffix).map((suffix) => styled({ ...tag, suffix }, version))
    : [];
  const count = countOf(version);
  const filled = count < 3 ? [`${version}${'.0'.repeat(3 - count)}`] : [];
  const parts = [2, 1].filter((fewer) => fewer < count).map((fewer) => cutVersion(version, fewer));
  const versions = [...filled, version, ...parts];
  return [...versions.flatMap((each) => wholeForms(tag, { ...target, version: each })), ...variants];
}
