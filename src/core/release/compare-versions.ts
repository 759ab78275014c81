import compare from 'semver/functions/compare.js';
import valid from 'semver/functions/valid.js';

/**
 * Compares versions by semantic version precedence: `1.6.0-canary.2`, `1.6.0-canary.10`, `1.6.0`. Other versions, such
 * as `2025.08.4`, are compared number by number; a missing number counts as 0.
 */
export function compareVersions(a: string, b: string): number {
  if (valid(a) !== null && valid(b) !== null) return compare(a, b);
  const [x, y] = [numbersOf(a), numbersOf(b)];
  for (let at = 0; at < Math.max(x.length, y.length); at++) {
    const difference = (x[at] ?? 0) - (y[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Compares only the numbers that both versions have, for ascending order. `2025.10` therefore equals `2025.10.3`. */
export function compareSharedVersionNumbers(a: string, b: string): number {
  const count = Math.min(countVersionNumbers(a), countVersionNumbers(b));
  return countVersionNumbers(a) === countVersionNumbers(b)
    ? compareVersions(a, b)
    : compareVersions(truncateVersion(a, count), truncateVersion(b, count));
}

/** Returns the first `count` numbers of a version as written: `2025.08` for 2 numbers of `2025.08.4`. */
export const truncateVersion = (version: string, count: number): string =>
  plain(version).split('.').slice(0, count).join('.');

/** Counts the numbers in a version: 3 in `1.2.3`. */
export const countVersionNumbers = (version: string): number => plain(version).split('.').length;

/** Lowest first number of a version that is regarded as a year. A new year is not a major change. */
const firstYear = 1900;

/**
 * Whether the first numbers of two versions differ and are not years. Users should dump the database before such a
 * change.
 */
export function isMajorVersionChange(from: string, to: string): boolean {
  const [a = 0, b = 0] = [from, to].map((version) => numbersOf(version)[0]);
  return a !== b && !(a >= firstYear && b >= firstYear);
}

const plain = (version: string): string => version.replace(/^v/, '').replace(/-.*$/, '');

const numbersOf = (version: string): number[] => plain(version).split('.').map(Number);
