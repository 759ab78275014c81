import valid from 'semver/functions/valid.js';

/** A tag that contains a version. */
export interface NumberedTag {
  /** `part` means a version with only one or two numbers. Such a tag usually points to the newest matching release. */
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

/** A parsed image tag. Only semantic versions are recognized; `other` is any other tag. */
export type SemverTag =
  | (NumberedTag & { kind: 'release' })
  | { kind: 'latest' | 'canary'; text: string }
  | { kind: 'other'; text: string };

const number = '(?:0|[1-9]\\d*)';
const stable = `${number}\\.${number}\\.${number}`;
const release = new RegExp(`^(v?)(${stable}(?:-canary\\.${number})?)((?:-[A-Za-z][A-Za-z0-9_.-]*)?)$`);

// Suffix of a pre-release, such as `-rc1`. It is not a variant, because new versions are not published with it.
export const preReleasePattern =
  /-(?:canary|alpha|beta|rc|pre|preview|dev|nightly|snapshot|next|edge|a|b)(?:[.\d_-]|$)/i;

export function parseSemverTag(text: string): SemverTag {
  if (text === 'latest' || text === 'canary') return { kind: text, text };
  const [, prefix = '', version = '', suffix = ''] = release.exec(text) ?? [];
  if (!isVersion(version) || preReleasePattern.test(suffix)) return { kind: 'other', text };
  return { kind: 'release', text, version, prefix: prefix === 'v' ? 'v' : '', suffix };
}

/** Rejects versions that semver rejects, such as those with numbers too large to be compared exactly. */
const isVersion = (text: string): boolean => text !== '' && valid(text) === text;
