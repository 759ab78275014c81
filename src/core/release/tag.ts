import valid from 'semver/functions/valid.js';

/** A tag that contains a version. */
export interface NumberedTag {
  /**
   * Kind of the version. `part` is a partial version with one or two numbers, which usually points to the newest
   * matching release.
   */
  kind: 'release' | 'part';
  text: string;
  /** Version: `1.2.3`, `2025.08.4` or `1.6.0-canary.4`; `2` or `2025.10` if it is partial. */
  version: string;
  /** Word before the version with its separator, such as `postgresql-`. Most tags have no such word. */
  lead?: string;
  prefix: 'v' | '';
  /** Variant, such as `-alpine`; empty if there is none. */
  suffix: string;
}

/** Version information in an image tag. */
export type Tag =
  | (NumberedTag & { kind: 'release' })
  | { kind: 'latest' | 'canary'; text: string }
  | { kind: 'other'; text: string };

const number = '(?:0|[1-9]\\d*)';
const stable = `${number}\\.${number}\\.${number}`;
const release = new RegExp(`^(v?)(${stable}(?:-canary\\.${number})?)((?:-[A-Za-z][A-Za-z0-9_.-]*)?)$`);

// A custom pre-release is not a variant of a release, because no one publishes it in combination with a new version.
export const preReleasePattern =
  /-(?:canary|alpha|beta|rc|pre|preview|dev|nightly|snapshot|next|edge|a|b)(?:[.\d_-]|$)/i;

export function parseTag(text: string): Tag {
  if (text === 'latest' || text === 'canary') return { kind: text, text };
  const [, prefix = '', version = '', suffix = ''] = release.exec(text) ?? [];
  if (!isVersion(version) || preReleasePattern.test(suffix)) return { kind: 'other', text };
  return { kind: 'release', text, version, prefix: prefix === 'v' ? 'v' : '', suffix };
}

/** Checks whether semver accepts a version, because semver rejects numbers that cannot be compared exactly. */
const isVersion = (text: string): boolean => text !== '' && valid(text) === text;
