import { compareSharedVersionNumbers, countVersionNumbers, truncateVersion } from './compare-versions.ts';
import { isNumberedTag, type PinTag, tagPrefixOf, tagSuffixOf } from './pin-tag.ts';
import type { NumberedTag } from './tag.ts';
import type { ReleaseOrCanaryTarget, ReleaseTarget } from './target.ts';

/** The new tag, or the reason why the tag is not changed. */
export type TagUpdateResult =
  | { kind: 'moved'; tag: string }
  /** The tag is not changed, because it is floating or already covers the target. */
  | { kind: 'stays' }
  /** The pin's version is partial, such as `2025.10`, and newer than the target. */
  | { kind: 'older' }
  /** The variant of the target differs from the variant of the pin. */
  | { kind: 'variant' }
  /** The target version has fewer numbers than the pin's version. */
  | { kind: 'short' }
  /** The pin has no version that could be changed. */
  | { kind: 'unversioned' };

/** Determines the tag for a target (docs/contract.md 3.2), in the format of the current tag. */
export function planTagUpdate(tag: PinTag, target: ReleaseOrCanaryTarget): TagUpdateResult {
  if (target.kind === 'canary') {
    const moves = tag.kind === 'release' || tag.kind === 'latest' || tag.kind === 'canary';
    return moves ? { kind: 'moved', tag: target.tag } : { kind: 'stays' };
  }
  if (tag.kind === 'unversioned') return { kind: 'unversioned' };
  const { suffix = '', version, lead } = target;
  if (lead !== undefined && (!isNumberedTag(tag) || lead !== tag.lead)) return { kind: 'variant' };
  if (tag.kind === 'canary') return { kind: 'moved', tag: target.tag };
  const isOfPin = tag.kind === 'release' || tagSuffixOf(tag) !== '' || tag.kind === 'part';
  if (suffix !== '' && isOfPin && suffix !== tagSuffixOf(tag)) return { kind: 'variant' };
  if (!isNumberedTag(tag)) return { kind: 'stays' };
  if (tag.kind === 'part' && compareSharedVersionNumbers(version, tag.version) < 0) return { kind: 'older' };
  const count = countVersionNumbers(tag.version);
  if (countVersionNumbers(version) < count) return { kind: 'short' };
  if (tag.kind === 'release') return { kind: 'moved', tag: formatVersionInTagStyle(tag, version) };
  const part = truncateVersion(version, count);
  return compareSharedVersionNumbers(part, tag.version) === 0
    ? { kind: 'stays' }
    : { kind: 'moved', tag: formatVersionInTagStyle(tag, part) };
}

/** Formats a version as a tag with the prefix and the variant of a pin's tag. */
export const formatVersionInTagStyle = (tag: NumberedTag, version: string): string =>
  `${tagPrefixOf(tag)}${version}${tag.suffix}`;

/**
 * Returns the tags under which the target may be published in the variant of the pin, with and without `v`. All
 * readings of an ambiguous tag are included.
 */
export function listCompleteVersionTags(tag: PinTag, { version, suffix = '' }: ReleaseTarget): string[] {
  const own = tagSuffixOf(tag) || suffix;
  const forms = (lead: string, behind: string) =>
    (isNumberedTag(tag) && tag.prefix === '' ? ['', 'v'] : ['v', '']).map(
      (prefix) => `${lead}${prefix}${version}${behind}`,
    );
  // `apache` may be a variant or a custom word.
  if (tag.kind === 'other' && own === '') return [...forms('', `-${tag.text}`), ...forms('', '')];
  if (!isNumberedTag(tag) || !tag.lead) return forms('', own);
  // `release-10.11` may be a floating tag for releases without `release-` in their tags.
  return [...forms(tag.lead, own), ...(tag.kind === 'part' ? forms('', own) : [])];
}

/** Guesses the variants of a newer release, because the engine cannot list a registry's tags. */
function guessVariants(suffix: string): string[] {
  const [, before = '', number = '', after = ''] = /^(.*?)(\d{1,4})(\D*)$/.exec(suffix) ?? [];
  if (number === '') return [];
  // The guesses include `-alpine3.21` and `-alpine` for `-alpine3.20`, and `-p1` and no variant for `-p2`.
  const later = [1, 2, 3, 4, 5].map((more) => Number(number) + more);
  const numbered = [...later, 0, 1].map((each) => `${before}${each}${after}`);
  return [...numbered, `${before.replace(/[\d.]+$/, '')}${after}`, ''].filter((each) => each !== suffix);
}

/**
 * Returns the tags under which a target may be published: complete versions, then partial versions, then other
 * variants.
 */
export function listPossibleTags(tag: PinTag, target: ReleaseTarget): string[] {
  const { version } = target;
  const variants = isNumberedTag(tag)
    ? guessVariants(tag.suffix).map((suffix) => formatVersionInTagStyle({ ...tag, suffix }, version))
    : [];
  const count = countVersionNumbers(version);
  const filled = count < 3 ? [`${version}${'.0'.repeat(3 - count)}`] : [];
  const parts = [2, 1].filter((fewer) => fewer < count).map((fewer) => truncateVersion(version, fewer));
  const versions = [...filled, version, ...parts];
  return [
    ...versions.flatMap((each) => listCompleteVersionTags(tag, { ...target, version: each })),
    ...variants,
  ];
}
