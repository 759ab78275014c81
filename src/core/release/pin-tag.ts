import { type NumberedTag, parseTag, preRelease, type Tag } from './tag.ts';

/** The version information in an image tag of any product. */
export type PinTag =
  /** `other` is a custom word: `edge`, `main`. */
  | Tag
  | NumberedTag
  /** A word for the latest release: `stable`, `release-cuda`. */
  | { kind: 'word'; text: string; suffix: string }
  /** A tag that does not float, but whose order cannot be determined. */
  | { kind: 'unversioned'; text: string };

const number = '\\d{1,15}';
const numbered = new RegExp(`^(v?)(${number}(?:\\.${number}){0,4})((?:-[A-Za-z][A-Za-z0-9_.-]*)?)$`);
const led = /^((?:[A-Za-z][A-Za-z0-9]*-)+)(v?\d.*)$/;
const ownWord = /^(?:release|version|stable|lts)-$/;
const word = /^(?:latest|release|stable|lts|current|mainline|production)((?:-[A-Za-z][A-Za-z0-9_.-]*)?)$/;
// The number of a build of one version: the tag of the next version has another.
const build = /-ls\d+$/;
const date = /(?<!\d)(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01])(?!\d)/;
const commit = /^(?:(?:sha|git)-)?(?=[a-f]*\d)[0-9a-f]{7,40}$/;
// The letters of a commit beside a version are no pre-release and no variant: those of the next tag are others.
const committed = /-(?=[a-f]*\d)[a-f0-9]{7,40}(?=-|$)/;
/** A longer number is a date or a build, and one that begins with a zero the end of an id. */
const alone = /^(?:0|[1-9]\d{0,3})$/;

export function parsePinTag(text: string): PinTag {
  const tag = parseTag(text);
  if (tag.kind !== 'other' && !(tag.kind === 'release' && isBuild(tag.suffix))) return tag;
  const [, suffix] = word.exec(text) ?? [];
  if (suffix !== undefined) return { kind: 'word', text, suffix };
  return (
    parseNumbered(text) ?? parseLed(text) ?? { kind: isUnversioned(text) ? 'unversioned' : 'other', text }
  );
}

/** The variant of a tag. */
export const suffixOf = (tag: PinTag): string => ('suffix' in tag ? tag.suffix : '');

export const isNumbered = (tag: PinTag): tag is NumberedTag => tag.kind === 'release' || tag.kind === 'part';

/**
 * The version that an image's label states; null where it states none. A label of one or two numbers is left out: as a
 * rule it is the version of the system that the image is built on.
 */
export function versionOfLabel(label: string | undefined): string | null {
  const tag = parsePinTag(label ?? '');
  return tag.kind === 'release' && !tag.lead ? tag.version : null;
}

function parseNumbered(text: string): NumberedTag | null {
  const [, prefix, version = '', suffix = ''] = numbered.exec(text) ?? [];
  if (prefix === undefined || preRelease.test(suffix) || isBuild(suffix)) return null;
  const numbers = version.split('.');
  if (numbers.length === 1 && !alone.test(version)) return null;
  const kind = numbers.length > 2 ? 'release' : 'part';
  return { kind, text, version, prefix: prefix === 'v' ? 'v' : '', suffix };
}

/**
 * A whole version behind a word (`postgresql-v2.15.1`, `version-6.1.21`). Two numbers may be those of the system which the
 * image is made on (`alpine-3.20`), but where the word says what they are (`release-10.11`).
 */
function parseLed(text: string): NumberedTag | null {
  const [, lead = '', rest = ''] = led.exec(text) ?? [];
  if (lead === '' || preRelease.test(`-${lead}`) || date.test(text)) return null;
  const tag = parseNumbered(rest);
  const isOwn = tag?.kind === 'part' && ownWord.test(lead) && tag.version.includes('.');
  return tag?.kind === 'release' || isOwn ? { ...tag, text, lead } : null;
}

/** Everything before the version: `postgresql-v`. */
export const beforeVersion = ({ lead = '', prefix }: NumberedTag): string => `${lead}${prefix}`;

/** Offsets of the version in the tag; of the whole tag where it has none. */
export function versionRange(tag: PinTag): [start: number, end: number] {
  if (!isNumbered(tag)) return [0, tag.text.length];
  const start = beforeVersion(tag).length;
  return [start, start + tag.version.length];
}

const stated =
  /^(?:(?:[A-Za-z][A-Za-z0-9]*-)+(?=v?\d+\.\d+\.\d))?v?(\d+(?:\.\d+)*(?:-(?:canary|alpha|beta|rc)[.\d]*)?)/;

/**
 * What a tag states without its variant, to hold two images against each other, whether or not their order can be told:
 * `1.144.1` of `v1.144.1-cuda`, `2.1.0` of `2.1.0-ls47`, `release` of `release-cuda`.
 */
export const statedVersion = (text: string): string => stated.exec(text)?.[1] ?? text.replace(/-.*$/, '');

/** Without the commit that it was made of. */
export const withoutCommit = (text: string): string => text.replace(committed, '');

const isBuild = (suffix: string): boolean =>
  build.test(suffix) || date.test(suffix) || committed.test(suffix);

const isUnversioned = (text: string): boolean =>
  /^v?\d/.test(text) || build.test(text) || date.test(text) || commit.test(text);
