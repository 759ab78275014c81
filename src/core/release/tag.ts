import valid from 'semver/functions/valid.js';

/** A tag with a version in it, as its product writes it. */
export interface NumberedTag {
  /** `part`: of one or two numbers, which as a rule leads to the newest release that begins so. */
  kind: 'release' | 'part';
  text: string;
  /** `1.2.3`, `2025.08.4`, `1.6.0-canary.4`; `2` or `2025.10` of a part. */
  version: string;
  /** A word before the version, with what parts them, such as `postgresql-`; none in most tags. */
  lead?: string;
  prefix: 'v' | '';
  /** A variant such as `-alpine`, or empty. */
  suffix: string;
}

/** The version information in the tag of an image. */
export type Tag =
  | (NumberedTag & { kind: 'release' })
  | { kind: 'latest' | 'canary'; text: string }
  | { kind: 'other'; text: string };

const number = '(?:0|[1-9]\\d*)';
const stable = `${number}\\.${number}\\.${number}`;
const release = new RegExp(`^(v?)(${stable}(?:-canary\\.${number})?)((?:-[A-Za-z][A-Za-z0-9_.-]*)?)$`);

// Somebody's own pre-release is no variant of a release: moved "in its own style" it would name a tag nobody publishes.
export const preRelease =
  /-(?:canary|alpha|beta|rc|pre|preview|dev|nightly|snapshot|next|edge|a|b)(?:[.\d_-]|$)/i;

export function parseTag(text: string): Tag {
  if (text === 'latest' || text === 'canary') return { kind: text, text };
  const [, prefix = '', version = '', suffix = ''] = release.exec(text) ?? [];
  if (!isVersion(version) || preRelease.test(suffix)) return { kind: 'other', text };
  return { kind: 'release', text, version, prefix: prefix === 'v' ? 'v' : '', suffix };
}

/** The forms are matched above; semver rejects numbers that cannot be compared exactly. */
const isVersion = (text: string): boolean => text !== '' && valid(text) === text;
