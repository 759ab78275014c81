import valid from 'semver/functions/valid.js';

/** What the tag of an image says about its version. */
export type Tag =
  | {
      kind: 'release';
      text: string;
      /** `1.2.3` or `1.2.3-canary.4`. */
      version: string;
      prefix: 'v' | '';
      /** A variant such as `-alpine`, or empty. */
      suffix: string;
    }
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
