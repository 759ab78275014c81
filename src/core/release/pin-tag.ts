import { type NumberedTag, parseSemverTag, preReleasePattern, type SemverTag } from './tag.ts';

/** A parsed image tag of any product. Its version need not be semantic. */
export type PinTag =
  /** Result of `parseSemverTag`. The kind `other` stands for a custom tag, such as `edge` or `main`. */
  | SemverTag
  | NumberedTag
  /** Floating tag for the latest release: `stable`, `release-cuda`. */
  | { kind: 'word'; text: string; suffix: string }
  /** Fixed tag that cannot be compared with other tags. */
  | { kind: 'unversioned'; text: string };

const number = '\\d{1,15}';
const numbered = new RegExp(`^(v?)(${number}(?:\\.${number}){0,4})((?:-[A-Za-z][A-Za-z0-9_.-]*)?)$`);
const led = /^((?:[A-Za-z][A-Za-z0-9]*-)+)(v?\d.*)$/;
const ownWord = /^(?:release|version|stable|lts)-$/;
const word = /^(?:latest|release|stable|lts|current|mainline|production)((?:-[A-Za-z][A-Za-z0-9_.-]*)?)$/;
// Build number after a version. It is ignored, because the tag of the next version has another build number.
const build = /-ls\d+$/;
const date = /(?<!\d)(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01])(?!\d)/;
const commit = /^(?:(?:sha|git)-)?(?=[a-f]*\d)[0-9a-f]{7,40}$/;
// Commit ID after a version. It is neither a pre-release nor a variant, because the next tag has another commit ID.
const committed = /-(?=[a-f]*\d)[a-f0-9]{7,40}(?=-|$)/;
/**
 * A single number that is taken for a version. Longer numbers are dates or build numbers. A number with a leading zero
 * is part of an ID.
 */
const alone = /^(?:0|[1-9]\d{0,3})$/;

export function parsePinTag(text: string): PinTag {
  const tag = parseSemverTag(text);
  if (tag.kind !== 'other' && !(tag.kind === 'release' && isBuild(tag.suffix))) return tag;
  const [, suffix] = word.exec(text) ?? [];
  if (suffix !== undefined) return { kind: 'word', text, suffix };
  return (
    parseNumbered(text) ??
    parsePrefixedTag(text) ?? { kind: isUnversioned(text) ? 'unversioned' : 'other', text }
  );
}

/** Returns the variant of a tag, such as `-alpine`; empty if the tag has no variant. */
export const tagSuffixOf = (tag: PinTag): string => ('suffix' in tag ? tag.suffix : '');

export const isNumberedTag = (tag: PinTag): tag is NumberedTag =>
  tag.kind === 'release' || tag.kind === 'part';

/**
 * Returns the version in the version label of an image; null if there is none. One or two numbers are usually the
 * version of the base system.
 */
export function parseVersionLabel(label: string | undefined): string | null {
  const tag = parsePinTag(label ?? '');
  return tag.kind === 'release' && !tag.lead ? tag.version : null;
}

function parseNumbered(text: string): NumberedTag | null {
  const [, prefix, version = '', suffix = ''] = numbered.exec(text) ?? [];
  if (prefix === undefined || preReleasePattern.test(suffix) || isBuild(suffix)) return null;
  const numbers = version.split('.');
  if (numbers.length === 1 && !alone.test(version)) return null;
  const kind = numbers.length > 2 ? 'release' : 'part';
  return { kind, text, version, prefix: prefix === 'v' ? 'v' : '', suffix };
}

/** Parses a tag that has a word before a complete version, such as `postgresql-v2.15.1` or `version-6.1.21`. */
function parsePrefixedTag(text: string): NumberedTag | null {
  const [, lead = '', rest = ''] = led.exec(text) ?? [];
  if (lead === '' || preReleasePattern.test(`-${lead}`) || date.test(text)) return null;
  const tag = parseNumbered(rest);
  // After a word such as `release`, two numbers are enough. In `alpine-3.20`, they may be the version of the base
  // system.
  const isOwn = tag?.kind === 'part' && ownWord.test(lead) && tag.version.includes('.');
  return tag?.kind === 'release' || isOwn ? { ...tag, text, lead } : null;
}

/** Returns the part of the tag before the version: `postgresql-v`. */
export const tagPrefixOf = ({ lead = '', prefix }: NumberedTag): string => `${lead}${prefix}`;

/** Returns the offsets of the version in the tag. If there is no version, returns the offsets of the whole tag. */
export function versionRangeOf(tag: PinTag): [start: number, end: number] {
  if (!isNumberedTag(tag)) return [0, tag.text.length];
  const start = tagPrefixOf(tag).length;
  return [start, start + tag.version.length];
}

const stated =
  /^(?:(?:[A-Za-z][A-Za-z0-9]*-)+(?=v?\d+\.\d+\.\d))?v?(\d+(?:\.\d+)*(?:-(?:canary|alpha|beta|rc)[.\d]*)?)/;

/**
 * Returns the version or word in a tag: `1.144.1` for `v1.144.1-cuda`, `2.1.0` for `2.1.0-ls47`, `release` for
 * `release-cuda`. Equal results mean equal versions, even if it is unknown which tag is newer.
 */
export const versionTextOf = (text: string): string => stated.exec(text)?.[1] ?? text.replace(/-.*$/, '');

export const removeCommitId = (text: string): string => text.replace(committed, '');

const isBuild = (suffix: string): boolean =>
  build.test(suffix) || date.test(suffix) || committed.test(suffix);

const isUnversioned = (text: string): boolean =>
  /^v?\d/.test(text) || build.test(text) || date.test(text) || commit.test(text);
