import { parsePinTag, removeCommitId } from './pin-tag.ts';
import { preReleasePattern } from './tag.ts';

/** Target of an update as requested by the operator, in the format of the product's tags. */
export type Target =
  | {
      kind: 'release';
      /** Version with as many numbers as were entered: `1.2.3`, `2025.8`. */
      version: string;
      /** Target as entered: `v1.2.3`, `32.0.1-apache`. */
      tag: string;
      /** Variant such as `-apache`. If undefined, each pin keeps its own variant. */
      suffix?: string;
      /** Word before the version, such as `postgresql-`. If undefined, each pin keeps its own word. */
      lead?: string;
    }
  | { kind: 'canary'; tag: 'canary' }
  /** Floating tag. Images pinned to it are pulled again. */
  | { kind: 'word'; tag: string }
  /** Tag without a comparable version: `RELEASE.2025-10-15T17-29-55Z`, `2025-10-15`. */
  | { kind: 'unversioned'; tag: string };

/**
 * Target to which tags can be changed. The planner first converts a floating target to such a target, and rejects a
 * target without a version.
 */
export type ReleaseOrCanaryTarget = Extract<Target, { kind: 'release' | 'canary' }>;

export type ReleaseTarget = Extract<Target, { kind: 'release' }>;

const tagForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const wordForm = /^[A-Za-z][A-Za-z0-9_.-]*$/;
const tooManyNumbers = /^v?\d+(?:\.\d+){5,}/;

export const targetDescription =
  "a release in the format of the product's tags (v1.2.3, 2025.8.4, 32.0.1-apache), canary or stable";

/** Returns null for invalid targets and for pre-releases. */
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
      if (!tagForm.test(text) || preReleasePattern.test(removeCommitId(text)) || tooManyNumbers.test(text))
        return null;
      return { kind: 'unversioned', tag: text };
    case 'other':
      return wordForm.test(text) && tagForm.test(text) ? { kind: 'word', tag: text } : null;
  }
}
