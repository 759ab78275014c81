import { parsePinTag, withoutCommit } from './pin-tag.ts';
import { preRelease } from './tag.ts';

/** What an operator asks to move to, as the product writes it. */
export type Target =
  | {
      kind: 'release';
      /** `1.2.3`, `2025.8`: as many numbers as were given. */
      version: string;
      /** As it was written: `v1.2.3`, `32.0.1-apache`. */
      tag: string;
      /** `-apache`; where there is none, each pin keeps its own. */
      suffix?: string;
      /** `postgresql-`, likewise. */
      lead?: string;
    }
  | { kind: 'canary'; tag: 'canary' }
  /** A tag that floats, by its name: what is pinned to it is pulled again. */
  | { kind: 'word'; tag: string }
  /** A tag that has no version which could be held against another: `RELEASE.2025-10-15T17-29-55Z`, `2025-10-15`. */
  | { kind: 'unversioned'; tag: string };

/** A target that tags can be moved to: a plan has made one of words, and refused what has no version. */
export type PlannedTarget = Extract<Target, { kind: 'release' | 'canary' }>;

export type ReleaseTarget = Extract<Target, { kind: 'release' }>;

const tagForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const wordForm = /^[A-Za-z][A-Za-z0-9_.-]*$/;
const tooManyNumbers = /^v?\d+(?:\.\d+){5,}/;

/** Of which forms a target is, for people. */
export const targetForms =
  'a release as the product writes it (v1.2.3, 2025.8.4, 32.0.1-apache), canary or stable';

/** Null for a text that is no tag of a release, and for builds that come before a release. */
export function parseTarget(text: string): Target | null {
  const tag = parsePinTag(text);
  switch (tag.kind) {
    case 'canary':
      return { kind: 'canary', tag: 'canary' };
    case 'release':
    case 'part':
      if (tag.version.includes('-')) return null;
      return {
        kind: 'release',
        version: tag.version,
        tag: text,
        suffix: tag.suffix,
        ...(tag.lead && { lead: tag.lead }),
      };
    case 'latest':
    case 'word':
      return { kind: 'word', tag: text };
    case 'unversioned':
      if (!tagForm.test(text) || preRelease.test(withoutCommit(text)) || tooManyNumbers.test(text))
        return null;
      return { kind: 'unversioned', tag: text };
    case 'other':
      return wordForm.test(text) && tagForm.test(text) ? { kind: 'word', tag: text } : null;
  }
}
